import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from '@matrix/client'
import { connectLocal } from '@matrix/client/node'
import { type MockProvider, openMockProvider, type Playbook } from '@matrix/mock-provider'

const workspace = fileURLToPath(new URL('../../..', import.meta.url))
const daemonProgram = join(workspace, 'apps/daemon/bin/matrix-daemon.js')
const cliProgram = join(workspace, 'apps/cli/bin/matrix.js')
const builtUi = join(workspace, 'apps/ui/dist')

/** A home of its own with a repository, a daemon that runs, and a model that plays a script. Only the model is not real. */
export type World = {
  url: string
  /** Lets in one browser, once. */
  enrolmentUrl: string
  home: string
  dataDirectory: string
  repository: string
  mock: MockProvider
  /** With the rights of whoever started the daemon. */
  client: Client
  git(...args: string[]): string
  /** Ends the daemon as a power cut would. */
  killDaemon(): Promise<void>
  startDaemon(): Promise<void>
  close(): Promise<void>
}

/** A server of the agent's own beside the built-in one. Its tools only read, and nobody is asked about them. */
export type OwnServer = { alias: string; files: Record<string, string> & { 'server.mjs': string }; tools: string[] }

type WorldOptions = {
  playbook?: Playbook
  files?: Record<string, string>
  config?: Record<string, unknown>
  servers?: OwnServer[]
}

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const { playbook, files = {}, config = {}, servers = [] } = options
  const home = await realpath(await mkdtemp(join(tmpdir(), 'matrix-ui-')))
  await chmod(home, 0o755)
  const dataDirectory = join(home, '.mxd')
  const repository = join(home, 'shop')
  const mock = await openMockProvider(playbook ? { playbook, forgetful: true } : {})
  await prepareData(dataDirectory, { ...providerOf(mock), ...config }, servers)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, encoding: 'utf8', env: envOf(home) })
  await prepareRepository(repository, files, git)

  let daemon = await runDaemon(home, dataDirectory)
  const port = new URL(daemon.url).port
  const world: World = {
    url: new URL(daemon.url).origin,
    enrolmentUrl: daemon.url,
    home,
    dataDirectory,
    repository,
    mock,
    client: await connectLocal(dataDirectory),
    git,
    async killDaemon() {
      daemon.process.kill('SIGKILL')
      await once(daemon.process, 'exit')
    },
    async startDaemon() {
      daemon = await runDaemon(home, dataDirectory, port)
      world.client = await connectLocal(dataDirectory)
    },
    async close() {
      await endDaemon(daemon.process)
      await mock.close()
      await rm(home, { recursive: true, force: true })
    },
  }
  return world
}

/** What somebody has who started Matrix for the first time, without a key: nothing of it is prepared by a test. */
export type DemoWorld = Pick<World, 'url' | 'enrolmentUrl' | 'client' | 'close'>

export async function openDemoWorld(): Promise<DemoWorld> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'matrix-ui-demo-')))
  await chmod(home, 0o755)
  const dataDirectory = join(home, '.mxd')
  const daemon = await runDaemon(home, dataDirectory, '0', ['--demo'])
  return {
    url: new URL(daemon.url).origin,
    enrolmentUrl: daemon.url,
    client: await connectLocal(dataDirectory),
    async close() {
      await endDaemon(daemon.process)
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function endDaemon(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return
  daemon.kill('SIGTERM')
  await once(daemon, 'exit')
}

function providerOf(mock: MockProvider): Record<string, unknown> {
  return { authGroups: { default: { provider: 'anthropic', anthropicApiKey: 'none', anthropicBaseUrl: mock.url } } }
}

/** The shipped agent without the servers that would have to be fetched, and with the built-in one as it was built just now. */
async function prepareData(
  dataDirectory: string,
  config: Record<string, unknown>,
  servers: OwnServer[],
): Promise<void> {
  await mkdir(join(dataDirectory, 'agents'), { recursive: true })
  const agent = JSON.parse(await readFile(join(workspace, 'agents/default.json'), 'utf8'))
  const builtIn = await readFile(join(workspace, 'apps/daemon/dist/serve-tools.mjs'))
  const own = agent.servers.find(({ alias }: { alias: string }) => alias === 'mxd')
  const others = await Promise.all(servers.map((server) => writeServer(join(dataDirectory, '..'), server)))
  agent.servers = [{ ...own, package_digest: digestOf(builtIn) }, ...others]
  const file = join(dataDirectory, 'agents/default.json')
  await writeFile(file, JSON.stringify(agent))
  await lockAgent(file, servers)
  await writeFile(join(dataDirectory, 'config.json'), JSON.stringify(config, null, 2))
}

async function writeServer(home: string, { alias, files, tools }: OwnServer): Promise<unknown> {
  const folder = join(home, alias)
  await mkdir(folder)
  for (const [name, text] of Object.entries({ 'package.json': '{}', ...files }))
    await writeFile(join(folder, name), text)
  return {
    alias,
    transport: 'stdio',
    command: 'node',
    args: [join(folder, 'server.mjs')],
    version: '1.0.0',
    package_digest: digestOf(Buffer.from(files['server.mjs'])),
    tools: tools.map((name) => ({ name, side_effect_class: 'read' })),
  }
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** Locks the agent as a person would, and has every command but the tests be asked about. */
async function lockAgent(file: string, servers: OwnServer[]): Promise<void> {
  const lockFile = file.replace('.json', '.lock.json')
  execFileSync(process.execPath, [cliProgram, 'lock', file, '--yes', '--out', lockFile], { stdio: 'ignore' })
  const lock = JSON.parse(await readFile(lockFile, 'utf8'))
  // A server that describes itself by a file beside it differs in what it says, not in what it loads.
  for (const { alias } of servers) delete lock.servers[alias].package.files_digest
  const alsoAllowed = servers.map(({ alias }) => `@${alias}/*`)
  lock.policy = {
    tools: ['*'],
    allowedTools: ['background', 'read_file', 'write_file', 'edit_file', 'list_files', 'search', ...alsoAllowed],
    toolsSettings: { bash: { allowedCommands: ['node --test', 'node watch.js'] } },
    resources: [],
    hooks: {},
  }
  await writeFile(lockFile, JSON.stringify(lock))
}

async function prepareRepository(
  folder: string,
  files: Record<string, string>,
  git: (...args: string[]) => string,
): Promise<void> {
  const all = { 'README.md': '# Shop\n', ...files }
  for (const [path, text] of Object.entries(all)) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  git('init', '--quiet', '-b', 'main')
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.com')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'the shop as it was')
}

type RunningDaemon = { process: ChildProcess; url: string }

async function runDaemon(
  home: string,
  dataDirectory: string,
  port = '0',
  flags: string[] = [],
): Promise<RunningDaemon> {
  const where = ['--data-dir', dataDirectory, '--port', port, '--ui', builtUi]
  const args = [daemonProgram, ...where, '--enrol', '--foreground', ...flags]
  const daemon = spawn(process.execPath, args, { env: envOf(home), stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  return new Promise((resolve, reject) => {
    daemon.stdout.on('data', (chunk: Buffer) => {
      said += chunk
      const url = /https?:\/\/\S+#enrol=\S+/.exec(said)?.[0]
      if (url) resolve({ process: daemon, url })
    })
    daemon.stderr.on('data', (chunk: Buffer) => {
      said += chunk
    })
    daemon.on('exit', (code) => reject(new Error(`The daemon ended with ${code}.\n${said}`)))
  })
}

function envOf(home: string): NodeJS.ProcessEnv {
  const { PATH } = process.env
  return { PATH, HOME: home, MATRIX_TEST: '1' }
}
