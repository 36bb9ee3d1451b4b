import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@matrix/client'
import { connectLocal } from '@matrix/client/node'
import type { TaskView } from '@matrix/protocol/http'
import { orderSteps, type Step, startObedientModel } from './obedient-model.ts'
import { expectProgram, runProgram } from './run-command.ts'
import { terminalEnvironment } from './terminal-environment.ts'

/** Matrix as a user runs it: a daemon with default settings, used by the command line. */
export type Stage = {
  /** Makes a repository a project whose agents reach these hosts. */
  addProject(repository: string, hosts: readonly string[]): Promise<void>
  /** Has the root agent of the project in this folder do the steps, and waits until it is done. */
  perform(repository: string, steps: readonly Step[]): Promise<TaskView>
  /** All that the root agent was told. */
  log(repository: string): Promise<string>
  merge(repository: string): Promise<void>
  close(): Promise<void>
}

const cli = dirname(createRequire(import.meta.url).resolve('@matrix/cli/package.json'))
export const matrixBin = join(cli, 'bin/matrix.js')
/** What runs here was built into these folders. */
export const builds: readonly string[] = [join(cli, 'dist'), join(cli, 'node_modules/@matrix/daemon/dist')]

const LIMIT_MS = 40 * 60_000
/** Between two steps an agent may look idle for a moment. */
const QUIET_MS = 5000

/** Starts a daemon of its own with an obedient model in the place of a provider. */
export async function openStage(folder: string): Promise<Stage> {
  const data = join(folder, 'data')
  const env = { ...terminalEnvironment(), MXD_DATA_DIR: data }
  // A run that was killed leaves its daemon behind.
  await runProgram([process.execPath, matrixBin, 'daemon', 'stop'], { cwd: '/', env })
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const model = await startObedientModel()
  const authGroups = { obedient: { provider: 'anthropic', anthropicApiKey: 'obedient', anthropicBaseUrl: model.url } }
  writeFileSync(join(data, 'config.json'), JSON.stringify({ authGroups }), { mode: 0o600 })
  const matrix = (cwd: string, ...args: string[]) => expectProgram([process.execPath, matrixBin, ...args], { cwd, env })
  const logOf = (repository: string) => matrix(repository, 'logs', 'root', '--verbose')
  await matrix(folder, 'daemon', 'start', '--port', '0')
  const client = await connectLocal(data)
  return {
    async addProject(repository, hosts) {
      // The agent runs the setup itself, as the run outside does.
      const access = hosts.length > 0 ? ['--hosts', hosts.join(',')] : []
      await matrix(repository, 'init', '--yes', '--setup', 'none', ...access)
    },
    async perform(repository, steps) {
      await matrix(repository, 'send', 'root', orderSteps(steps))
      return untilDone({ client, repository, complaints: model.complaints }).catch(async (error: Error) => {
        // What the agent was told last is what a reader needs to see.
        throw new Error(`${error.message}\n${(await logOf(repository)).slice(-1500)}`, { cause: error })
      })
    },
    log: logOf,
    async merge(repository) {
      await matrix(repository, 'merge', 'root', '--yes', '--update-checkout')
    },
    async close() {
      await matrix(folder, 'daemon', 'stop').finally(() => model.close())
    },
  }
}

type Waiting = { client: Client; repository: string; complaints: readonly string[] }

/** Waits for the root agent of a project. Anything that it asks of a user is a finding. */
export async function untilDone({ client, repository, complaints }: Waiting): Promise<TaskView> {
  const project = (await client.listProjects()).find(({ path }) => path === repository)
  if (!project) throw new Error(`${repository} is not a project.`)
  let quietSince = Date.now()
  for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(250)) {
    if (complaints.length > 0) throw new Error(`The model refused a request: ${complaints[0]}`)
    await expectNoQuestion(client, project.id)
    const root = (await client.listTasks({ projectId: project.id })).find(({ parentId }) => parentId === null)
    if (!root) throw new Error(`${repository} has no root task.`)
    if (root.problem) throw new Error(`The agent is ${root.activity}: ${root.problem.message}`)
    if (root.status === 'passed') return root
    if (root.status === 'failed') throw new Error('The agent marked its work as failed.')
    if (root.activity !== 'waiting') quietSince = Date.now()
    if (Date.now() - quietSince > QUIET_MS) throw new Error('The agent waits for a message: it could not end its work.')
  }
  throw new Error(`The agent was not done after ${LIMIT_MS / 60_000} minutes.`)
}

async function expectNoQuestion(client: Client, projectId: string): Promise<void> {
  const open = (await client.listAttention({ projectId })).find(({ kind }) => kind !== 'review')
  if (open) throw new Error(`The agent needs a user (${open.kind}): ${open.text}`)
}
