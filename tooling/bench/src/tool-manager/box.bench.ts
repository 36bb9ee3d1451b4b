import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type BoxLaunch,
  builtinLaunch,
  giveTree,
  openSandbox,
  programTransport,
  resolveIdentity,
  type Sandbox,
} from '@matrix/tool-manager'
import { Client } from '@modelcontextprotocol/client'
import { type Benchmark, type Figure, interleave, median } from '../figure.ts'

const bundler = fileURLToPath(new URL('../../../../packages/tool-manager/bundle.mjs', import.meta.url))

/** What the box costs an agent: once for each server, and not at all for each command. */
export const benchmark: Benchmark = {
  name: 'sandbox and built-in tools',
  async measure() {
    const sandbox = await openSandbox({ mode: 'auto' })
    if (!sandbox.status.available) {
      process.stderr.write(`not measured: ${sandbox.status.reason} Try: ${sandbox.status.fix}\n`)
      return []
    }
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    chmodSync(folder, 0o755)
    try {
      return await measureIn(folder, sandbox)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

async function measureIn(folder: string, sandbox: Sandbox): Promise<Figure[]> {
  const root = join(folder, 'worktree')
  const serverFile = join(folder, 'serve-tools.mjs')
  mkdirSync(root)
  const identity = resolveIdentity()
  if (identity) giveTree(root, identity)
  execFileSync(process.execPath, [bundler, serverFile])
  const launch = await builtinLaunch({ root, serverFile, sideEffects: ['read', 'write', 'shell'], version: '1.0.0' })
  const open = await openSandbox({ mode: 'off' })
  const start = await measureStarts({ unboxed: () => connect(open, launch), boxed: () => connect(sandbox, launch) })
  const [unboxed, boxed] = [await connect(open, launch), await connect(sandbox, launch)]
  const call = (client: Client) => client.callTool({ name: 'bash', arguments: { command: ':' } })
  const bash = await interleave(60, { plain: plainBash, unboxed: () => call(unboxed), boxed: () => call(boxed) })
  await Promise.all([unboxed.close(), boxed.close()])

  const unit = 'ms'
  return [
    { name: 'a boxed server until listTools answers', unit, ...start, against: 'unboxed', limit: 1.15 },
    { name: 'a bash call in the box', unit, ours: bash.boxed, floor: bash.unboxed, against: 'unboxed', limit: 1.15 },
    { name: 'a bash call, all told', unit, ours: bash.boxed, floor: bash.plain, against: 'bare bash -c', limit: 2 },
  ]
}

async function connect(by: Sandbox, launch: BoxLaunch): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' })
  await client.connect(programTransport(() => by.spawn(launch)))
  await client.listTools()
  return client
}

/** Medians of taking turns, without the time it takes to end a server again. */
async function measureStarts(start: Record<'boxed' | 'unboxed', () => Promise<Client>>) {
  const times = { boxed: [] as number[], unboxed: [] as number[] }
  for (let round = -1; round < 25; round += 1)
    for (const kind of ['boxed', 'unboxed'] as const) {
      const began = performance.now()
      const client = await start[kind]()
      if (round >= 0) times[kind].push(performance.now() - began)
      await client.close()
    }
  return { ours: median(times.boxed), floor: median(times.unboxed) }
}

async function plainBash(): Promise<void> {
  await once(spawn('/bin/bash', ['--noprofile', '--norc', '-c', ':'], { stdio: ['ignore', 'pipe', 'pipe'] }), 'close')
}
