import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { copyFile, mkdtemp, realpath, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockProvider, openMockProvider, type Playbook } from '@matrix/mock-provider'
import type { DurableEvent, TaskNode } from '@matrix/protocol'
import { build } from 'esbuild'
import { effectsFile } from './crowd.testing.ts'
import type { KillableRun } from './killable-run.testing.ts'
import { createSample } from './sample.ts'

const here = import.meta.dirname

/** Makes one file of the program that plays stories, so that starting it anew costs little. */
export async function bundleProgram(): Promise<{ file: string; remove(): Promise<void> }> {
  const cache = join(here, '..', 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'killed-story-'))
  const packages = join(here, '..', '..')
  const native = ['better-sqlite3', 'better-sqlite3-node20', '@vscode/ripgrep']
  await build({
    entryPoints: [join(here, 'killable-run.testing.ts')],
    outfile: join(folder, 'program.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
    plugins: [
      {
        name: 'native-modules-stay-where-they-are',
        setup(plugin) {
          plugin.onResolve({ filter: new RegExp(`^(${native.join('|')})$`) }, ({ path, importer }) => ({
            path: locate(path, importer),
            external: true,
          }))
        },
      },
    ],
  })
  await copyFile(join(packages, 'tool-manager/dist/serve-tools.mjs'), join(folder, 'serve-tools.mjs'))
  return { file: join(folder, 'program.mjs'), remove: () => rm(folder, { recursive: true, force: true }) }
}

/** The release of SQLite for another Node may not be installed; it is not loaded then. */
function locate(name: string, importer: string): string {
  try {
    return createRequire(importer).resolve(name)
  } catch {
    return name
  }
}

export type Stage = {
  dataDirectory: string
  repository: string
  mock: MockProvider
  goal: string
  close(): Promise<void>
}

/** A fresh machine: a repository, an empty data directory, and a model that knows its words. */
export async function openStage(
  playbook: Playbook,
  goal: string,
  { forgetful = true }: { forgetful?: boolean } = {},
): Promise<Stage> {
  const dataDirectory = await realpath(await mkdtemp(join(tmpdir(), 'matrix-killed-')))
  const repository = await createSample(join(dataDirectory, 'demo'))
  appendFileSync(join(repository, '.git/info/exclude'), `${effectsFile}\n`)
  const mock = await openMockProvider({ playbook, forgetful })
  return {
    dataDirectory,
    repository,
    mock,
    goal,
    async close() {
      await mock.close()
      await rm(dataDirectory, { recursive: true, force: true })
    },
  }
}

type Life = { isEnded: boolean; lines: string[] }

/** Lets the program live once, until it dies or the story ends. Processes of earlier lives must be gone when it has resumed. */
export async function liveOnce(program: string, stage: Stage, kill?: KillableRun['kill']): Promise<Life> {
  const { dataDirectory, repository, goal, mock } = stage
  const run: KillableRun = { dataDirectory, repository, goal, mockUrl: mock.url, ...(kill && { kill }) }
  const left = new Set(processesIn(dataDirectory))
  const child = spawn(process.execPath, [program, JSON.stringify(run)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (bytes: Buffer) => {
    const parts = `${rest}${bytes}`.split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) {
      lines.push(line)
      if (line.startsWith('resumed '))
        for (const survivor of processesIn(dataDirectory).filter((each) => left.has(each)))
          lines.push(`survivor ${survivor}`)
    }
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  if (code !== null && code !== 0) throw new Error(`The program failed with ${code}:\n${lines.join('\n')}`)
  return { isEnded: lines.includes('ended'), lines }
}

/** Everything that runs because of a data directory: `pid start-time`, so that a number that is used again is another one. */
export function processesIn(dataDirectory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`)
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        const fields = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]?.split(' ') ?? []
        const isOurs = `${cwd} ${command}`.includes(dataDirectory) && fields[0] !== 'Z'
        return isOurs ? [`${pid} ${fields[19]} ${command.slice(0, 120)}`] : []
      } catch {
        return []
      }
    })
}

/** What became of a story, in words that are the same for every run of it. */
export type Outcome = {
  tasks: string[]
  /** The files of the root's branch, as git names them. */
  files: string[]
  messages: string[]
  violations: string[]
  events: number
}

export function readOutcome({ dataDirectory, repository }: Stage): Outcome {
  const sessions = readSessions(dataDirectory)
  const tasks = sessions.map(({ task }) => task)
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  const root = tasks.find(({ parentId }) => parentId === null)
  const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' }).trim()
  return {
    tasks: tasks.map(({ title, status, parentId }) => `${titles.get(parentId ?? '') ?? ''}/${title}: ${status}`).sort(),
    files: git('ls-tree', '-r', `${root?.branch}`).split('\n'),
    messages: sessions.flatMap(({ task, events }) => events.flatMap((event) => describe(task, event, titles))).sort(),
    violations: sessions.flatMap(({ task, events }) => [
      ...findMessageFaults(task, events),
      ...findCallFaults(task, events),
      ...findDoubledEffects(task, events),
    ]),
    events: sessions.reduce((sum, { events }) => sum + events.length, 0),
  }
}

/** What every agent of the story went through. */
export function readSessions(dataDirectory: string): { task: TaskNode; events: DurableEvent[] }[] {
  const [projectId = ''] = readdirSync(join(dataDirectory, 'projects'))
  const folder = join(dataDirectory, 'projects', projectId)
  return readTree(folder).map((task) => ({ task, events: readSession(folder, task.id) }))
}

function readTree(folder: string): TaskNode[] {
  return JSON.parse(readFileSync(join(folder, 'tree.json'), 'utf8')).tasks
}

function readSession(folder: string, taskId: string): DurableEvent[] {
  const file = join(folder, 'sessions', `${taskId}.jsonl`)
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .flatMap((line) => ((line.event ?? line.type) ? [line.event ?? line] : []))
}

function describe({ title }: TaskNode, event: DurableEvent, titles: Map<string, string>): string[] {
  if (event.type !== 'message') return []
  // Ids of calls follow from the request, and costs from what the cache still knew: both differ from run to run.
  const text = JSON.stringify(event.message, (key, value) =>
    ['id', 'clarificationId', 'costUsd'].includes(key) ? undefined : value,
  )
  return [`${title} ← ${text.replaceAll(/[0-9A-HJKMNP-TV-Z]{26}/g, (id) => titles.get(id) ?? id)}`]
}

function findMessageFaults({ title, status }: TaskNode, events: DurableEvent[]): string[] {
  const stored = events.flatMap((event) => (event.type === 'message' ? [event.message.id] : []))
  const consumed = events.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : []))
  return [
    ...doubles(stored).map((id) => `${title}: message ${id} was stored twice`),
    ...doubles(consumed).map((id) => `${title}: message ${id} was consumed twice`),
    ...consumed
      .filter((id) => !stored.includes(id))
      .map((id) => `${title}: message ${id} was consumed but never stored`),
    ...stored
      .filter((id) => !consumed.includes(id))
      .map((id) => `${title} (${status}): message ${id} was never consumed`),
  ]
}

function findCallFaults({ title }: TaskNode, events: DurableEvent[]): string[] {
  const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event.callId] : []))
  const results = events.flatMap((event) => (event.type === 'tool_result' ? [event.callId] : []))
  return [
    ...doubles(calls).map((id) => `${title}: call ${id} was stored twice`),
    ...doubles(results).map((id) => `${title}: call ${id} has two results`),
    ...results.filter((id) => !calls.includes(id)).map((id) => `${title}: result ${id} has no call`),
    ...calls.filter((id) => !results.includes(id)).map((id) => `${title}: call ${id} has no result`),
    ...events.flatMap((event) => (event.type === 'error' ? [`${title}: ${event.code} ${event.message}`] : [])),
  ]
}

/** A command leaves one line each time it runs: one for each call that was answered, at most one more for each that was interrupted. */
function findDoubledEffects({ title, worktreePath }: TaskNode, events: DurableEvent[]): string[] {
  const calls = events.flatMap((event) =>
    event.type === 'tool_call' && JSON.stringify(event.input ?? '').includes(effectsFile) ? [event.callId] : [],
  )
  const file = join(worktreePath ?? '', effectsFile)
  if (calls.length === 0 || !worktreePath) return []
  const interrupted = events.filter(
    (event) =>
      event.type === 'tool_result' &&
      calls.includes(event.callId) &&
      JSON.stringify(event.content).includes('was interrupted before its result'),
  ).length
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').length : 0
  const least = calls.length - interrupted
  return lines >= least && lines <= calls.length
    ? []
    : [`${title}: ${calls.length} calls (${interrupted} interrupted) had ${lines} effects`]
}

function doubles(ids: string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}
