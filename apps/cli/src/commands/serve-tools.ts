import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { SideEffect } from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import {
  type BoxLaunch,
  builtinLaunch,
  openSandbox,
  openToolchains,
  type RunningProgram,
  resolveIdentity,
  serveTools as serveHere,
} from '@matrix/tool-manager'
import packageJson from '../../package.json' with { type: 'json' }
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { printError } from '../terminal.ts'

export type ServeToolsOptions = { root?: string; host?: string[]; unsandboxed?: boolean }

/** Matrix's own tools for any MCP client, until the client closes the pipe: in a sandbox, unless the user asked for none. */
export async function serveTools({ root = '.', host = [], unsandboxed }: ServeToolsOptions): Promise<ExitCode> {
  const folder = resolve(root)
  if (!unsandboxed) return serveSandboxed(folder, host)

  printError('NOT SANDBOXED: these tools run commands and change files with all your rights on this machine.')
  await serveHere({ root: folder, version: packageJson.version })
  return exitCode.ok
}

async function serveSandboxed(root: string, hosts: string[]): Promise<ExitCode> {
  const sandbox = await openSandbox({ mode: 'required' })
  if (!sandbox.status.available)
    throw new MatrixError('SANDBOX_UNAVAILABLE', `No tools were started: ${sandbox.status.reason}`, {
      hint: `${sandbox.status.fix} Or pass --unsandboxed: the tools then have all your rights on this machine.`,
    })
  const running = await sandbox.spawn(await launchIn(root, hosts))
  const network = hosts.length > 0 ? `reach ${hosts.join(', ')}` : 'have no network'
  printError(printableLine(`Sandboxed: these tools read and write ${root}, run the programs in your PATH, ${network}.`))
  return relay(running)
}

async function launchIn(root: string, hosts: string[]): Promise<BoxLaunch> {
  const sideEffects: SideEffect[] = ['read', 'write', 'shell', ...(hosts.length > 0 ? ['network' as const] : [])]
  const { policy, ...launch } = await builtinLaunch({ root, sideEffects, version: packageJson.version, hosts })
  const machine = openToolchains({ home: homedir(), identity: resolveIdentity(), kept: [dataFolder()] })
  const { folders, searchPath, env } = await machine.current()
  const path = [...new Set([...searchPath, '/usr/local/bin', '/usr/bin', '/bin'])].join(':')
  return { ...launch, env: { ...env, PATH: path }, policy: { ...policy, toolchains: folders } }
}

/** The client speaks with the sandbox through this process, which ends with it. */
async function relay(running: RunningProgram): Promise<ExitCode> {
  process.stdin.pipe(running.stdin)
  running.stdout.pipe(process.stdout)
  running.stderr.pipe(process.stderr)
  const stop = () => void running.stop()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  const { code } = await running.exited
  process.stdin.destroy()
  return code === 0 ? exitCode.ok : exitCode.toolError
}
