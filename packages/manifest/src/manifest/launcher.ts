import { findBehind, SHELLS } from './launch-wrapper.ts'
import { type Ecosystem, parsePackageSpec } from './package-spec.ts'
import { DIGEST_SHAPE, isExactVersion } from './tool-uri.ts'

/** A package that a launcher fetches. Name and version are printed: neither ever holds the credentials of a URL. */
export type LaunchedPackage = {
  ecosystem: Ecosystem
  name: string
  version: string | undefined
  /** Which argument names it, and in which words; unlike name and version, those are never printed. */
  argument: number
  spec: string
}

/** What a stdio server's command really starts: a published package, a file of this machine, or nobody can tell. */
export type Launcher =
  // `others` are fetched beside the package and run with it.
  | ({ kind: 'package'; others: readonly LaunchedPackage[] } & LaunchedPackage)
  | { kind: 'script'; runtime: string; file: string; argument: number; rest: readonly string[] }
  | { kind: 'program'; file: string }
  | { kind: 'unclear'; why: string }

type Command = {
  ecosystem: Ecosystem
  words: readonly string[]
  /** Options that stand alone, and those that take the next argument. */
  switches: RegExp
  valued?: readonly string[]
  /** Options that name the package instead of the first plain argument, and those that name others beside it. */
  spec?: readonly string[]
  beside?: readonly string[]
  /** Options whose value is a text for a shell. */
  text?: readonly string[]
  /** Whether options behind the package are still the launcher's own. */
  readsAll?: boolean
}

const npm = {
  ecosystem: 'npm',
  switches:
    /^(?:-[yqsdg]|--(?:yes|no|quiet|silent|verbose|offline|prefer-offline|prefer-online|ignore-existing|ignore-scripts|legacy-peer-deps|force|bun|workspaces|no-[a-z-]+))$/,
  valued: ['-w', '--workspace', '--registry', '--cache', '--prefix', '--loglevel', '--userconfig', '-C', '--dir'],
  spec: ['-p', '--package'],
  text: ['-c', '--call', '--shell-mode', '--shell'],
} as const
const uv = {
  ecosystem: 'pypi',
  switches:
    /^(?:-[qvn]+|--(?:quiet|verbose|offline|isolated|refresh|reinstall|native-tls|managed-python|upgrade|frozen|locked|no-[a-z-]+))$/,
  valued: [
    ...['--python', '-p', '--index-url', '-i', '--index', '--default-index', '--extra-index-url', '--find-links', '-f'],
    ...[
      '--directory',
      '--project',
      '--prerelease',
      '--constraints',
      '-c',
      '--overrides',
      '--cache-dir',
      '--config-file',
    ],
    ...[
      '--with-editable',
      '--with-requirements',
      '--env-file',
      '--refresh-package',
      '--extra',
      '--group',
      '--exclude-newer',
    ],
  ],
  beside: ['--with', '-w'],
} as const
const nuget = {
  ecosystem: 'nuget',
  switches: /^(?:-y|--(?:yes|prerelease|interactive|allow-roll-forward|no-[a-z-]+))$/,
  valued: ['--source', '--add-source', '--version', '--configfile', '--verbosity', '-v', '--framework'],
} as const

const commands: readonly Command[] = [
  { ...npm, words: ['npx'] },
  { ...npm, words: ['npm', 'exec'], readsAll: true },
  { ...npm, words: ['npm', 'x'], readsAll: true },
  { ...npm, words: ['pnpm', 'dlx'] },
  { ...npm, words: ['pnpx'] },
  { ...npm, words: ['yarn', 'dlx'] },
  { ...npm, words: ['bunx'] },
  { ...npm, words: ['bun', 'x'] },
  { ...uv, words: ['uvx'], spec: ['--from'] },
  { ...uv, words: ['uv', 'tool', 'run'], spec: ['--from'] },
  {
    ecosystem: 'pypi',
    words: ['pipx', 'run'],
    switches: /^(?:-[qv]+|--(?:quiet|verbose|no-cache|system-site-packages))$/,
    valued: ['--python', '--index-url', '-i', '--pip-args'],
    spec: ['--spec'],
    beside: ['--with'],
  },
  { ...nuget, words: ['dnx'] },
  { ...nuget, words: ['dotnet', 'dnx'] },
  { ...nuget, words: ['dotnet', 'tool', 'exec'] },
]

const fetchers = new Set(commands.map(({ words }) => words[0] ?? ''))
// What starts a package of a made-up name, or one of no ecosystem that can be pinned here.
const otherFetches = [
  ...['npm', 'pnpm', 'yarn', 'bun'].map((program) => [program, 'create']),
  ['npm', 'init'],
  ['nix', 'run'],
  ['nix', 'shell'],
]

const runtimes = ['node', 'python', 'python3', 'deno', 'bun', 'tsx', 'ruby', 'php', 'bash', 'sh', 'zsh']
const valuedByRuntime = ['-r', '--require', '--import', '--loader', '-C', '--conditions', '--env-file', '-X', '-W']
const valuedByDeno = [
  '-c',
  '--config',
  '--import-map',
  '--lock',
  '--cert',
  '--location',
  '--seed',
  '--ext',
  '-L',
  '--log-level',
]
const inlineCode = ['-e', '-c', '--eval', '-p', '--print', 'eval']
const remote = /^(?!file:)[a-z][a-z+.-]+:/i
// `npm:@scope/name@1.2.3/program`, without the program.
const denoSpec = /^npm:\/?((?:@[^/]*\/)?[^/]*)/
const ociCommands = ['docker', 'podman', 'nerdctl']
// Options of `docker run` that stand alone; every other one takes a value.
const ociSwitches =
  /^(?:-[dirtPq]+|--(?:rm|rmi|init|interactive|tty|detach|privileged|read-only|read-only-tmpfs|publish-all|quiet|no-healthcheck|no-hosts|no-hostname|sig-proxy|oom-kill-disable|disable-content-trust|use-api-socket|env-host|http-proxy|passwd|replace|tls-verify|help))$/
const MAX_WRAPPERS = 8

export function parseLauncher(command: string, args: readonly string[]): Launcher {
  return parseBehind(command, args, 0)
}

function parseBehind(command: string, args: readonly string[], depth: number): Launcher {
  if (depth > MAX_WRAPPERS) return unclear('it is wrapped too often')
  const program = programName(command)
  const behind = findBehind(program, args)
  if (behind && 'unclear' in behind) return unclear(behind.unclear)
  if (behind) return moved(parseBehind(behind.command, behind.args, depth + 1), behind.place)
  return (
    parseFetch(program, args) ??
    (ociCommands.includes(program) ? parseOciRun(args) : undefined) ??
    parseScript(program, args, depth) ??
    parseProgram(command, program, args)
  )
}

function programName(command: string): string {
  return command
    .replace(/^.*[\\/]/, '')
    .replace(/\.(?:cmd|exe|bat|ps1)$/i, '')
    .toLowerCase()
}

/** Whether a command is a shell that would run a text instead of a file. */
export function isShellText(command: string, args: readonly string[]): boolean {
  const program = programName(command)
  const isShell = [...SHELLS, 'cmd', 'powershell', 'pwsh'].includes(program)
  return isShell && (parseLauncher(command, args).kind !== 'script' || args.some((text) => /^[-/][a-z]*c/i.test(text)))
}

function unclear(why: string): Launcher {
  return { kind: 'unclear', why }
}

function moved(launcher: Launcher, place: (argument: number) => number): Launcher {
  if (launcher.kind === 'program' || launcher.kind === 'unclear') return launcher
  if (launcher.kind === 'script') return { ...launcher, argument: place(launcher.argument) }
  const others = launcher.others.map((each) => ({ ...each, argument: place(each.argument) }))
  return { ...launcher, argument: place(launcher.argument), others }
}

function parseFetch(program: string, args: readonly string[]): Launcher | undefined {
  for (const command of commands) {
    const places = command.words[0] === program ? findWords(command.words.slice(1), args) : undefined
    if (places) return parsePackageCommand(command, args, places)
  }
  if (program === 'uv' && findWords(['run'], args)) return parseUvRun(args)
  if (otherFetches.some(([first, word = '']) => first === program && findWords([word], args)))
    return unclear('it starts a package that is named nowhere')
  const isOfGo = program === 'go' && findWords(['run'], args) && args.some((text) => text.includes('@'))
  return isOfGo ? unclear('Go fetches it, which cannot be pinned here') : undefined
}

/** Where the words of a subcommand stand, with nothing but options and their values before them. */
function findWords(words: readonly string[], args: readonly string[]): Set<number> | undefined {
  const places = new Set<number>()
  let index = 0
  for (const word of words) {
    while (index < args.length && args[index] !== word && mayPrecede(args, index)) index += 1
    if (args[index] !== word) return undefined
    places.add(index)
    index += 1
  }
  return places
}

function mayPrecede(args: readonly string[], index: number): boolean {
  const isOption = (text = '') => text.startsWith('-') && text !== '--'
  return isOption(args[index]) || isOption(args[index - 1])
}

type Named = { at: number; spec: string }

function parsePackageCommand(command: Command, args: readonly string[], places: Set<number>): Launcher {
  const { ecosystem, words, switches, valued = [], spec = [], beside = [], text = [], readsAll = false } = command
  const named: Named[] = []
  const others: Named[] = []
  let plain: Named | undefined
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? ''
    if (places.has(index)) continue
    if (argument === '--' && (plain || named.length > 0)) break
    if (argument === '--') continue
    const [option = '', inline] = argument.split(/=(.*)/s, 2)
    const at = inline === undefined ? index + 1 : index
    if (text.includes(option)) return unclear('a shell works out what it runs')
    if (spec.includes(option) || beside.includes(option)) {
      const value = inline ?? args[at]
      if (value === undefined) return unclear('an option lacks its value')
      const list = spec.includes(option) ? named : others
      list.push(...(beside.includes(option) ? splitList(value) : [value]).map((each) => ({ at, spec: each })))
      index = at
    } else if (valued.includes(argument)) index += 1
    else if (!argument.startsWith('-')) {
      plain ??= { at: index, spec: argument }
      if (!readsAll) break
    } else if (!plain && !switches.test(argument) && inline === undefined)
      return unclear('an option before it is not known here')
  }
  const [first = plain, ...more] = named
  if (!first) return { kind: 'program', file: words.join(' ') }
  return packageLauncher(ecosystem, first, [...more, ...others])
}

/** `--with a==1.0.0,b`: commas part packages, except inside the brackets of an extra. */
function splitList(value: string): string[] {
  return value.split(/,(?![^[]*\])/).map((each) => each.trim())
}

/** A project of this machine, with packages that are fetched for the occasion. */
function parseUvRun(args: readonly string[]): Launcher | undefined {
  const places = findWords(['run'], args) ?? new Set<number>()
  const launcher = parsePackageCommand(
    { ...uv, words: ['uv', 'run'], valued: [...uv.valued, '-m', '--module'] },
    args,
    places,
  )
  if (launcher.kind !== 'package') return args.some(isBeside) ? launcher : undefined
  if (remote.test(launcher.spec)) return unclear('it is a script of another machine')
  const [first, ...others] = launcher.others
  return first && { kind: 'package', ...first, others }
}

function isBeside(argument: string): boolean {
  return uv.beside.some((option) => argument === option || argument.startsWith(`${option}=`))
}

function packageLauncher(ecosystem: Ecosystem, first: Named, others: readonly Named[] = []): Launcher {
  const launched = ({ at, spec }: Named): LaunchedPackage => {
    return { ecosystem, ...parsePackageSpec(ecosystem, spec), argument: at, spec }
  }
  return { kind: 'package', ...launched(first), others: others.map(launched) }
}

function parseOciRun(args: readonly string[]): Launcher | undefined {
  const places = findWords(['container', 'run'], args) ?? findWords(['run'], args)
  if (!places) return undefined
  for (let index = Math.max(...places) + 1; index < args.length; index += 1) {
    const argument = args[index] ?? ''
    if (!argument.startsWith('-')) return packageLauncher('oci', { at: index, spec: argument })
    if (!argument.includes('=') && argument !== '--' && !ociSwitches.test(argument)) index += 1
  }
  return { kind: 'program', file: 'docker run' }
}

function parseScript(runtime: string, args: readonly string[], depth: number): Launcher | undefined {
  if (!runtimes.includes(runtime)) return undefined
  const valued = runtime === 'deno' ? [...valuedByRuntime, ...valuedByDeno] : valuedByRuntime
  const words = runtime === 'deno' ? ['run', 'serve'] : ['run']
  const argument = args.findIndex(
    (text, index) => !text.startsWith('-') && !words.includes(text) && !valued.includes(args[index - 1] ?? ''),
  )
  const file = args[argument]
  const before = args.slice(0, argument === -1 ? args.length : argument + 1)
  if (before.some((text) => inlineCode.includes(text) && !valued.includes(text)))
    return unclear('a program in the arguments works out what it runs')
  if (file === undefined) return undefined
  const rest = args.slice(argument + 1)
  // A module of Python, or the script that a launcher itself is.
  const inner = programName(file).replace(/(?:-cli)?\.[cm]?js$/, '')
  if (fetchers.has(inner) || inner === 'corepack')
    return moved(parseBehind(inner, rest, depth + 1), (each) => each + argument + 1)
  if (before.includes('-m')) return undefined
  if (runtime === 'deno' && file.startsWith('npm:'))
    return packageLauncher('npm', { at: argument, spec: denoSpec.exec(file)?.[1] ?? '' })
  if (remote.test(file)) return unclear('it is a script of another machine')
  return { kind: 'script', runtime, file, argument, rest }
}

/** A program that is handed the name of a launcher is a wrapper that we do not know. */
function parseProgram(command: string, program: string, args: readonly string[]): Launcher {
  const isWrapper = !fetchers.has(program) && args.some((text) => fetchers.has(programName(text)))
  return isWrapper ? unclear('a program that is not known here starts it') : { kind: 'program', file: command }
}

/** Whether the launcher can fetch nothing but this version of the package, and beside it nothing that may change. */
export function isPinnedTo(launcher: Launcher, version: string): boolean {
  if (launcher.kind !== 'package') return true
  return isPackagePinned(launcher, version) && launcher.others.every((each) => isPackagePinned(each))
}

/** To this version, or to any one version. */
export function isPackagePinned({ ecosystem, version = '' }: LaunchedPackage, wanted = version): boolean {
  if (ecosystem === 'oci' && DIGEST_SHAPE.test(version)) return true
  return version === wanted && isExactVersion(version)
}
