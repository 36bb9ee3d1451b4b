import { checkServer } from '@matrix/tool-manager'
import { type Benchmark, interleave } from '../figure.ts'
import { definition, lockOf, manifestOf, scripted } from './scripted.ts'

const LIMIT_MS = 5

/** What it costs to hold a long list against its lock, each time a server connects or says that it changed. */
export const benchmark: Benchmark = {
  name: 'verification of a list',
  async measure() {
    const tools = Array.from({ length: 200 }, (_, index) => definition(`tool_${index}`))
    const server = scripted('bench', tools)
    const locked = lockOf(manifestOf([server]), tools).servers.bench
    // What arrives is never the same object as what was locked.
    const text = JSON.stringify(tools)
    const { verify } = await interleave(25, { verify: () => checkServer(server, JSON.parse(text), locked) })
    return [
      {
        name: 'verify 200 tools against a lock',
        unit: 'ms',
        ours: verify,
        floor: LIMIT_MS,
        against: 'the limit',
        limit: 1,
      },
    ]
  },
}
