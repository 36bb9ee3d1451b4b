import { findCredentialArguments, isLiteralCredential } from './credential.ts'
import { isExactVersion } from './tool-uri.ts'

export type Ecosystem = 'npm' | 'pypi' | 'oci' | 'nuget'

/** What a stdio server's command really starts: a published package, or a file of this machine. */
export type Launcher =
  | {
      // Name and version are printed: neither ever holds the credentials of a URL.
      kind: 'package'
      ecosystem: Ecosystem
      name: string
      version: string | undefined
      argument: number
      rest: readonly string[]
    }
  | { kind: 'script'; runtime: string; file: string; argument: number; rest: readonly string[] }
  | { kind: 'program'; file: string }

type Command = { ecosystem: Ecosystem; words: string[]; valued: readonly string[]; spec?: readonly string[] }

// `valued` options take the next argument; `spec` options name the package instead of the first plain argument.
const commands: readonly Command[] = [
  {
    ecosystem: 'npm',
    words: ['npx'],
    valued: ['-c', '--call', '-w', '--workspace', '--registry', '--cache', '--prefix'],
    spec: ['-p', '--package'],
  },
  {
    ecosystem: 'npm',
    words: ['npm', 'exec'],
    valued: ['-c', '--call', '-w', '--workspace', '--registry', '--cache', '--prefix'],
    spec: ['-p', '--package'],
  },
  { ecosystem: 'npm', words: ['npm', 'x'], valued: ['-c', '--call'], spec: ['-p', '--package'] },
  { ecosystem: 'npm', words: ['pnpm', 'dlx'], valued: [], spec: ['--package'] },
  { ecosystem: 'npm', words: ['pnpx'], valued: [], spec: ['--package'] },
  { ecosystem: 'npm', words: ['yarn', 'dlx'], valued: [], spec: ['-p', '--package'] },
  { ecosystem: 'npm', words: ['bunx'], valued: [], spec: ['-p', '--package'] },
  { ecosystem: 'npm', words: ['bun', 'x'], valued: [], spec: ['-p', '--package'] },
  {
    ecosystem: 'pypi',
    words: ['uvx'],
    valued: ['--with', '-w', '--python', '-p', '--index-url', '--index'],
    spec: ['--from'],
  },
  {
    ecosystem: 'pypi',
    words: ['uv', 'tool', 'run'],
    valued: ['--with', '-w', '--python', '-p', '--index-url', '--index'],
    spec: ['--from'],
  },
  { ecosystem: 'pypi', words: ['pipx', 'run'], valued: ['--python', '--index-url', '--pip-args'], spec: ['--spec'] },
  { ecosystem: 'nuget', words: ['dnx'], valued: ['--source', '--version'] },
]

const shells = ['sh', 'bash', 'zsh', 'dash']
const runtimes = ['node', 'python', 'python3', 'deno', 'bun', 'tsx', 'ruby', 'php', 'bash', 'sh']
const valuedByRuntime = ['-r', '--require', '--import', '--loader', '-C', '--conditions', '--env-file', '-X', '-W']
const inlineCode = ['-e', '-c', '-m', '--eval', '-p', '--print']
// `npm:@scope/name@1.2.3/program`, without the program.
const denoSpec = /^npm:\/?((?:@[^/]*\/)?[^/]*)/
const ociCommands = ['docker', 'podman', 'nerdctl']
// Options of `docker run` that stand alone; every other one takes a value.
const ociSwitches =
  /^(?:-[dirtP]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet|no-healthcheck|sig-proxy))$/

export function parseLauncher(command: string, args: readonly string[]): Launcher {
  const program = command.replace(/^.*[\\/]/, '').replace(/\.(?:cmd|exe|ps1)$/i, '')
  const known = commands.find(
    ({ words }) => words[0] === program && words.slice(1).every((word, index) => args[index] === word),
  )
  if (known) return parsePackageCommand(known, args)
  if (ociCommands.includes(program) && args[0] === 'run') return parseOciRun(args)
  return parseWrapped(program, args) ?? parseScript(program, args) ?? { kind: 'program', file: command }
}

/** `cmd /c npx …`, `env A=b npx …` and `sh -c "npx …"` start what stands behind them. */
function parseWrapped(program: string, args: readonly string[]): Launcher | undefined {
  const [first = '', second = ''] = args
  if (program === 'cmd' && /^\/[ck]$/i.test(first)) return parseBehind(args, 1)
  if (program === 'env') {
    const start = args.findIndex((text) => !/^-|^[A-Za-z_]\w*=/.test(text))
    return start === -1 ? undefined : parseBehind(args, start)
  }
  // Only plain words: what a shell makes of anything else is not for us to guess.
  if (!shells.includes(program) || !/^-l?c$/.test(first) || !/^[\w@%+=:,./ -]+$/.test(second)) return undefined
  const [command = '', ...words] = second.trim().split(/ +/)
  return moved(parseLauncher(command, words), () => 1)
}

function parseBehind(args: readonly string[], start: number): Launcher {
  return moved(parseLauncher(args[start] ?? '', args.slice(start + 1)), (argument) => argument + start + 1)
}

function moved(launcher: Launcher, place: (argument: number) => number): Launcher {
  return launcher.kind === 'program' ? launcher : { ...launcher, argument: place(launcher.argument) }
}

function parsePackageCommand({ ecosystem, words, valued, spec = [] }: Command, args: readonly string[]): Launcher {
  const credentials = new Set(findCredentialArguments(args))
  for (let index = words.length - 1; index < args.length; index += 1) {
    const argument = args[index] ?? ''
    const [option = '', inline] = argument.split(/=(.*)/s, 2)
    if (spec.includes(option)) {
      const at = inline === undefined ? index + 1 : index
      const value = inline ?? args[at]
      if (value === undefined) break
      // After `--package x`, the next plain argument is the program inside it.
      return packageLauncher(ecosystem, value, at, args.slice(at + 2))
    }
    if (argument === '--') continue
    const isSecretOfOption = credentials.has(index) && args[index - 1]?.startsWith('--')
    if (valued.includes(argument)) index += 1
    else if (!argument.startsWith('-') && !isSecretOfOption)
      return packageLauncher(ecosystem, argument, index, args.slice(index + 1))
  }
  return { kind: 'program', file: words.join(' ') }
}

function packageLauncher(ecosystem: Ecosystem, spec: string, argument: number, rest: readonly string[]): Launcher {
  const { name, version } = parsePackageSpec(ecosystem, spec)
  return { kind: 'package', ecosystem, name, version, argument, rest }
}

/** `@scope/name@1.2.3`, `name==1.2.3`, `image:tag`: the name, and the version as far as the spec carries one. */
export function parsePackageSpec(ecosystem: Ecosystem, spec: string): { name: string; version: string | undefined } {
  const { name, version } = splitSpec(ecosystem, spec)
  const shown = withoutUrlSecrets(version ?? '')
  return {
    name: isLiteralCredential('', name) ? '(a credential)' : name,
    version: version === undefined || isLiteralCredential('', shown) ? undefined : shown,
  }
}

function splitSpec(ecosystem: Ecosystem, spec: string): { name: string; version: string | undefined } {
  if (ecosystem === 'oci') return parseImage(spec)
  if (/^[a-z][a-z+]*:\/\//.test(spec)) {
    const [, name = spec, version] = /^(.*?)(?:[#@]([^/#@]+))?$/s.exec(withoutUrlSecrets(spec)) ?? []
    return { name, version }
  }
  if (ecosystem === 'pypi') {
    const [, name = spec, version] = /^([\w.-]+)\s*(?:\[[^\]]*\])?\s*(?:==|@)?\s*(.+)?$/s.exec(spec) ?? []
    return { name, version }
  }
  const at = spec.indexOf('@', 1)
  return at === -1 ? { name: spec, version: undefined } : { name: spec.slice(0, at), version: spec.slice(at + 1) }
}

function withoutUrlSecrets(text: string): string {
  return text.replace(/:\/\/[^/?#\s]*@/, '://').replace(/\?[^#]*/, '')
}

function parseImage(reference: string): { name: string; version: string | undefined } {
  const digest = reference.indexOf('@')
  if (digest !== -1)
    return { name: reference.slice(0, digest).replace(/:[^/]*$/, ''), version: reference.slice(digest + 1) }
  const tag = /^(.*):([^/:]+)$/.exec(reference)
  return { name: tag?.[1] ?? reference, version: tag?.[2] }
}

function parseOciRun(args: readonly string[]): Launcher {
  for (let index = 1; index < args.length; index += 1) {
    const argument = args[index] ?? ''
    if (!argument.startsWith('-')) return packageLauncher('oci', argument, index, args.slice(index + 1))
    if (!argument.includes('=') && !ociSwitches.test(argument)) index += 1
  }
  return { kind: 'program', file: 'docker run' }
}

function parseScript(runtime: string, args: readonly string[]): Launcher | undefined {
  if (!runtimes.includes(runtime)) return undefined
  const argument = args.findIndex(
    (text, index) => !text.startsWith('-') && text !== 'run' && !valuedByRuntime.includes(args[index - 1] ?? ''),
  )
  const file = args[argument]
  if (file === undefined || args.slice(0, argument).some((text) => inlineCode.includes(text))) return undefined
  if (runtime === 'deno' && file.startsWith('npm:'))
    return packageLauncher('npm', denoSpec.exec(file)?.[1] ?? '', argument, args.slice(argument + 1))
  return { kind: 'script', runtime, file, argument, rest: args.slice(argument + 1) }
}

/** Whether the launcher can fetch nothing but this version of the package. */
export function isPinnedTo(launcher: Launcher, version: string): boolean {
  if (launcher.kind !== 'package') return true
  if (launcher.ecosystem === 'oci' && launcher.version?.startsWith('sha256:')) return true
  return launcher.version === version && isExactVersion(version)
}
