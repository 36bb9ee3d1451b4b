import type { Benchmark, Figure } from '../figure.ts'
import { openArena, type Score } from './arena.ts'
import { peerNames } from './peers.ts'

type Peer = (typeof peerNames)[number]

/** The same tool loop in other agents' hands, against the same model. */
export const benchmark: Benchmark = {
  name: 'provider loop and its peers',
  async measure() {
    const arena = await openArena({ peers: true })
    try {
      const one = await arena.compete(['matrix-anthropic', 'matrix-openai', ...peerNames], { turns: 200 })
      // Hundreds of agents take the slow ones minutes: only those that come first alone are worth the wait.
      const [first, second] = byCost(one)
      const many = await arena.compete(['matrix-anthropic', first, second], { turns: 20, agents: 512, rounds: 1 })
      const quickest = many[first].turnsPerSecond > many[second].turnsPerSecond ? first : second
      return [
        ...peerNames.map((peer) => compareCost(one, peer, peer === first ? 0.5 : 1)),
        {
          name: '512 agents, time per turn',
          unit: 'ms',
          ours: 1000 / many['matrix-anthropic'].turnsPerSecond,
          floor: 1000 / many[quickest].turnsPerSecond,
          against: quickest,
          limit: 0.5,
        },
        {
          name: '512 agents, longest stall',
          unit: 'ms',
          ours: many['matrix-anthropic'].stallMs,
          floor: many[quickest].stallMs,
          against: quickest,
          limit: 0.5,
        },
        {
          name: '512 agents, memory per agent',
          unit: 'MB',
          ours: many['matrix-anthropic'].mbPerAgent,
          floor: many[quickest].mbPerAgent,
          against: quickest,
          limit: 1,
        },
      ]
    } finally {
      arena.close()
    }
  },
}

function byCost(scores: Record<Peer, Score>): [Peer, Peer] {
  const [first = 'pi', second = 'vercel-ai'] = peerNames.toSorted((a, b) => scores[a].cpuMs - scores[b].cpuMs)
  return [first, second]
}

/** Each against ours through the same API. */
function compareCost(
  scores: Record<Peer | 'matrix-anthropic' | 'matrix-openai', Score>,
  peer: Peer,
  limit: number,
): Figure {
  const ours = peer === 'openai-agents' ? 'matrix-openai' : 'matrix-anthropic'
  return {
    name: `200 turns, ${ours}`,
    unit: 'CPU ms per turn',
    ours: scores[ours].cpuMs,
    floor: scores[peer].cpuMs,
    against: peer,
    limit,
  }
}
