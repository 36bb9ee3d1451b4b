import { execFile, fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { installPeers } from './peers.ts'

export type Score = { cpuMs: number; turnsPerSecond: number; stallMs: number; mbPerAgent: number }

export type Arena = {
  /** Medians of several runs in which the contestants take turns, each in a process of its own. */
  compete<Name extends string>(
    names: Name[],
    work: { turns: number; agents?: number; rounds?: number },
  ): Promise<Record<Name, Score>>
  /** How long a fresh process takes to import this, in ms beyond an empty process. */
  timeImport(code: string): Promise<number>
  close(): void
}

const here = fileURLToPath(new URL('.', import.meta.url))

/** A model to talk to, and the contestants built as they would be shipped: our code in one file, others' as installed. */
export async function openArena(options: { peers?: boolean } = {}): Promise<Arena> {
  // Beside the loop's own dependencies, so that they are found.
  const folder = mkdtempSync(join(here, '../../../../packages/provider-loop/node_modules/.arena-'))
  const script = join(folder, 'contestants.mjs')
  const common = { bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' } as const
  const external = ['@anthropic-ai/sdk', 'openai', '@pydantic/genai-prices']
  await build({
    ...common,
    entryPoints: [fileURLToPath(new URL('./contestants.ts', import.meta.url))],
    outfile: script,
    external,
  })
  const peers = options.peers ? await installPeers() : undefined
  if (peers)
    await build({
      ...common,
      entryPoints: [fileURLToPath(new URL('../../peers/contestants.mjs', import.meta.url))],
      outfile: peers.script,
      packages: 'external',
    })
  const server = fork(new URL('./model-server.mjs', import.meta.url), { execArgv: [] })
  const port = await new Promise((resolve) => server.once('message', resolve))
  const url = `http://127.0.0.1:${port}`

  async function play(name: string, turns: number, agents: number): Promise<Score> {
    const entry = peers?.names.includes(name) ? peers.script : script
    const args = ['--expose-gc', entry, name, url, String(turns), String(agents)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e7 })
    return JSON.parse(stdout)
  }

  return {
    async compete(names, { turns, agents = 1, rounds = 3 }) {
      const scores = new Map<string, Score[]>(names.map((name) => [name, []]))
      for (let round = 0; round < rounds; round += 1)
        for (const name of names) scores.get(name)?.push(await play(name, turns, agents))
      return Object.fromEntries(names.map((name) => [name, medians(scores.get(name) ?? [])])) as never
    },
    async timeImport(code) {
      const entry = join(folder, 'import.ts')
      writeFileSync(entry, code)
      const outfile = join(folder, 'import.mjs')
      // Nothing is left out: whoever installs the packages loads all of them.
      await build({ ...common, entryPoints: [entry], outfile, external, treeShaking: false })
      const times = []
      for (let round = 0; round < 9; round += 1) {
        const empty = await timeProcess(['-e', '0'])
        times.push((await timeProcess([outfile])) - empty)
      }
      return median(times)
    },
    close() {
      server.disconnect()
      rmSync(folder, { recursive: true })
    },
  }
}

async function timeProcess(args: string[]): Promise<number> {
  const start = performance.now()
  await promisify(execFile)(process.execPath, args)
  return performance.now() - start
}

function medians(scores: Score[]): Score {
  const of = (key: keyof Score) => median(scores.map((score) => score[key]))
  return {
    cpuMs: of('cpuMs'),
    turnsPerSecond: of('turnsPerSecond'),
    stallMs: of('stallMs'),
    mbPerAgent: of('mbPerAgent'),
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
