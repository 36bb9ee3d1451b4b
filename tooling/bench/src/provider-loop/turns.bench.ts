import type { Benchmark } from '../figure.ts'
import { openArena } from './arena.ts'

const cpu = 'CPU ms per turn'

/** What a turn costs beside the model: alone, with a durable log, in a long conversation, and among many agents. */
export const benchmark: Benchmark = {
  name: 'provider loop',
  async measure() {
    const arena = await openArena()
    try {
      const names = [
        'matrix-anthropic',
        'matrix-anthropic-durable',
        'sdk-anthropic',
        'matrix-openai',
        'sdk-openai',
      ] as const
      const one = await arena.compete([...names], { turns: 200 })
      const [short, long] = [
        await arena.compete(['matrix-anthropic'], { turns: 50 }),
        await arena.compete(['matrix-anthropic'], { turns: 1000, rounds: 1 }),
      ]
      const many = await arena.compete(['matrix-anthropic', 'sdk-anthropic'], { turns: 20, agents: 512, rounds: 1 })
      const ms = await arena.timeImport(
        `import { createAnthropicAdapter } from '@matrix/provider-loop'\ncreateAnthropicAdapter({})`,
      )
      const [ours, sdk] = [many['matrix-anthropic'], many['sdk-anthropic']]
      return [
        {
          name: '200 turns, Anthropic',
          unit: cpu,
          ours: one['matrix-anthropic'].cpuMs,
          floor: one['sdk-anthropic'].cpuMs,
          against: 'bare SDK',
          limit: 1,
        },
        {
          name: '200 turns, Anthropic, durable log',
          unit: cpu,
          ours: one['matrix-anthropic-durable'].cpuMs,
          floor: one['sdk-anthropic'].cpuMs,
          against: 'bare SDK',
          limit: 1,
        },
        {
          name: '200 turns, OpenAI chat',
          unit: cpu,
          ours: one['matrix-openai'].cpuMs,
          floor: one['sdk-openai'].cpuMs,
          against: 'bare SDK',
          limit: 1,
        },
        {
          name: '1000 turns against 50',
          unit: cpu,
          ours: long['matrix-anthropic'].cpuMs,
          floor: short['matrix-anthropic'].cpuMs,
          against: 'ours, 50 turns',
          limit: 2,
        },
        {
          name: '512 agents, time per turn',
          unit: 'ms',
          ours: 1000 / ours.turnsPerSecond,
          floor: 1000 / sdk.turnsPerSecond,
          against: 'bare SDK',
          limit: 1,
        },
        {
          name: '512 agents, longest stall',
          unit: 'ms',
          ours: ours.stallMs,
          floor: sdk.stallMs,
          against: 'bare SDK',
          limit: 1,
        },
        {
          name: '512 agents, memory per agent',
          unit: 'MB',
          ours: ours.mbPerAgent,
          floor: sdk.mbPerAgent,
          against: 'bare SDK',
          limit: 1,
        },
        { name: 'import with one adapter', unit: 'ms', ours: ms, floor: 100, against: 'promised', limit: 1 },
      ]
    } finally {
      arena.close()
    }
  },
}
