import { bootTools, executeTool } from '@matrix/tool-manager'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Benchmark, interleave } from '../figure.ts'
import { definition, lockOf, manifestOf, openPool, scripted, serverFile } from './scripted.ts'

const calls = 400
const input = { path: 'a', value: 'hello' }

/** What resolving, gating, redacting and shaping add to a call that the bare SDK makes. */
export const benchmark: Benchmark = {
  name: 'tool calls',
  async measure() {
    const tools = [definition('echo')]
    const manifest = manifestOf([scripted('bench', tools)])
    const pool = await openPool()
    const agent = bootTools({ pool, manifest, lock: lockOf(manifest, tools) })
    const client = new Client({ name: 'bench', version: '1.0.0' })
    const args = [serverFile, JSON.stringify({ tools })]
    await client.connect(new StdioClientTransport({ command: process.execPath, args }))
    const bare = () => client.callTool({ name: 'echo', arguments: input })
    const ours = () => executeTool(agent, { name: 'mcp__bench__echo', input })
    try {
      const one = await interleave(9, { bare: () => inTurn(bare), ours: () => inTurn(ours) })
      const many = await interleave(9, { bare: () => atOnce(bare), ours: () => atOnce(ours) })
      const [unit, against, limit] = ['ms', 'bare SDK client', 1.25] as const
      return [
        { name: `${calls} calls, one after the other`, unit, ours: one.ours, floor: one.bare, against, limit },
        { name: `${calls} calls, 64 at once`, unit, ours: many.ours, floor: many.bare, against, limit },
      ]
    } finally {
      await Promise.all([client.close(), pool.close()])
    }
  },
}

async function inTurn(call: () => Promise<unknown>): Promise<void> {
  for (let index = 0; index < calls; index += 1) await call()
}

async function atOnce(call: () => Promise<unknown>): Promise<void> {
  let left = calls
  const work = async () => {
    while (left > 0) {
      left -= 1
      await call()
    }
  }
  await Promise.all(Array.from({ length: 64 }, work))
}
