import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Benchmark, interleave } from '../figure.ts'

const matrix = fileURLToPath(new URL('../../../../apps/cli/bin/matrix.js', import.meta.url))
const manifest = fileURLToPath(new URL('../../../../agents/default.json', import.meta.url))

/** How long a person waits for the command line to do the least it can do. */
export const benchmark: Benchmark = {
  name: 'cli start-up',
  async measure() {
    const times = await interleave(25, {
      node: () => run('-e', '0'),
      version: () => run(matrix, '--version'),
      verify: () => run(matrix, 'verify', '--offline', manifest),
    })
    const floor = { unit: 'ms', floor: times.node, against: 'node -e 0' }
    return [
      { name: 'matrix --version', ours: times.version, ...floor, limit: 1.5 },
      { name: 'matrix verify --offline, one file', ours: times.verify, ...floor, limit: 2.5 },
    ]
  },
}

function run(...args: string[]): void {
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`)
}
