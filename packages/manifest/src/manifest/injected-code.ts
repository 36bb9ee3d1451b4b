import { injectingVariables, type VariableKind } from './injecting-variable.ts'
import { findBehind, SHELLS } from './launch-wrapper.ts'
import { parseLauncher } from './launcher.ts'

/** Something in a launch that makes the program run code beside the file or package that is pinned. */
export type Injection = {
  field: 'command' | 'args' | 'env'
  /** Which argument, or the name of the variable. */
  step: number | string
  /** `error`: the code stands there, or lies where the agent can write it. */
  severity: 'error' | 'warning'
  /** What it does, without its value: that may be a credential. */
  what: string
}

export type LaunchText = {
  command: string
  args: readonly string[]
  env: readonly { name: string; value: string }[]
  /** Where the agent works, where that is known by another name than `/workspace`. */
  worktree?: string | undefined
}

const MAX_WRAPPERS = 8

/** Everything in the arguments and the environment of a server that loads or runs what no digest vouches for. */
export function findInjectedCode({ command, args, env, worktree }: LaunchText): Injection[] {
  const found: Injection[] = env.flatMap(({ name, value }) => {
    const injection = judgeVariable(name, value, worktree)
    return injection ? [{ field: 'env' as const, step: name, ...injection }] : []
  })
  let launch: Launch = { program: programName(command), args, place: (index) => index }
  for (let depth = 0; depth < MAX_WRAPPERS; depth += 1) {
    found.push(...assignmentsIn(launch, worktree))
    const behind = findBehind(launch.program, launch.args)
    if (!behind || 'unclear' in behind) break
    const outer = launch.place
    launch = {
      program: programName(behind.command),
      args: behind.args,
      place: (index) => outer(behind.place(index)),
    }
  }
  return [...found, ...optionsIn(launch, worktree)]
}

type Launch = { program: string; args: readonly string[]; place: (index: number) => number }
type Judgement = Pick<Injection, 'severity' | 'what'>

function programName(command: string): string {
  return command
    .replace(/^.*[\\/]/, '')
    .replace(/\.(?:cmd|exe|bat|ps1)$/i, '')
    .toLowerCase()
}

/** `env NODE_OPTIONS=… node server.js`: what a wrapper sets counts like `env`. */
function assignmentsIn({ program, args, place }: Launch, worktree: string | undefined): Injection[] {
  if (!['env', 'sudo', 'cross-env'].includes(program) && !SHELLS.includes(program)) return []
  return args.flatMap((text, index) => {
    const words = SHELLS.includes(program) ? text.split(/\s+/) : [text]
    return words.flatMap((word): Injection[] => {
      const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? []
      const judged = name === undefined ? undefined : judgeVariable(name, value, worktree)
      return judged ? [{ field: 'args', step: place(index), ...judged }] : []
    })
  })
}

function judgeVariable(name: string, value: string, worktree: string | undefined): Judgement | undefined {
  const kind = injectingVariables(name)
  if (!kind || value === '') return undefined
  return judgments[kind](name, value, worktree)
}

const judgments: Record<
  VariableKind,
  (name: string, value: string, worktree: string | undefined) => Judgement | undefined
> = {
  code: (name) => ({ severity: 'error', what: `${name} is run as code` }),
  paths: (name, value, worktree) => judgePath(`${name} says where code is loaded from`, value, worktree),
  // A search path of the system is in half of all configurations.
  search: (name, value, worktree) =>
    isInWorkspace(value, worktree)
      ? { severity: 'error', what: `${name} finds programs in the folder that the agent writes` }
      : undefined,
  file: (name, value, worktree) =>
    /[/\\]|\.\w+$/.test(value) ? judgePath(`${name} names a file that is run`, value, worktree) : undefined,
  nodeOptions: (name, value, worktree) => judgeNodeOptions(name, value, worktree),
  options: (name, value, worktree) =>
    isInWorkspace(value.replace(/(?:^|\s)-\w|=/g, ' '), worktree)
      ? { severity: 'error', what: `${name} loads code from the folder that the agent writes` }
      : { severity: 'warning', what: `${name} gives the program options that can load code` },
}

function judgePath(what: string, value: string, worktree: string | undefined): Judgement {
  return isInWorkspace(value, worktree)
    ? { severity: 'error', what: `${what}, and leads into the folder that the agent writes` }
    : { severity: 'warning', what }
}

function judgeNodeOptions(name: string, value: string, worktree: string | undefined): Judgement | undefined {
  const words = value.trim().split(/\s+/)
  const found = optionsOf('node', words).map(({ option, text }) => judgeOption(option, text, worktree))
  const worst = found.find(({ severity }) => severity === 'error') ?? found[0]
  return worst && { ...worst, what: `${name}: ${worst.what}` }
}

type Option = { name: RegExp; kind: 'code' | 'module' | 'file' | 'script' | 'cwd' }

const nodeOptions: readonly Option[] = [
  { name: /^(?:-e|-p|-pe|--eval|--print)$/, kind: 'code' },
  { name: /^(?:-r|--require|--import|--loader|--experimental-loader)$/, kind: 'module' },
  { name: /^--(?:openssl-config|snapshot-blob|experimental-config-file)$/, kind: 'file' },
  { name: /^--run$/, kind: 'script' },
]

/** What makes each runtime run something beside its file. */
const byRuntime: Record<string, readonly Option[]> = {
  node: nodeOptions,
  tsx: nodeOptions,
  bun: [
    { name: /^(?:-e|-p|--eval|--print)$/, kind: 'code' },
    { name: /^(?:-r|--preload|--require|--import)$/, kind: 'module' },
  ],
  deno: [
    { name: /^eval$/, kind: 'code' },
    { name: /^--(?:import-map|preload|require|import)$/, kind: 'module' },
  ],
  python: [
    { name: /^-[bBdEIOPqRsSuvx]*c$/, kind: 'code' },
    { name: /^-[bBdEOqRsSuvx]*m$/, kind: 'cwd' },
  ],
  ruby: [
    { name: /^-[a-z]*e$/, kind: 'code' },
    { name: /^-[rI]$/, kind: 'module' },
  ],
  perl: [
    { name: /^-[a-z]*[eE]$/, kind: 'code' },
    { name: /^-[MmI]$/, kind: 'module' },
  ],
  php: [{ name: /^(?:-r|-B|-R|--run)$/, kind: 'code' }],
  lua: [
    { name: /^-e$/, kind: 'code' },
    { name: /^-l$/, kind: 'module' },
  ],
  java: [{ name: /^-(?:javaagent|agentpath|agentlib|Xbootclasspath\/a)$/, kind: 'module' }],
}
/** Short options of these take their value in the same word. */
const attached = /^(-[A-Za-z])(?=[^-=])(.+)$/

const npmPrograms = ['npx', 'npm', 'pnpm', 'pnpx', 'yarn', 'bunx']
const npmOptions = /^--(?:node-options|script-shell|shell|userconfig|globalconfig|git|init-module)$/
/** Packages that start a program which their arguments name. */
const runners =
  /^(?:tsx|ts-node|nodemon|jiti|esno|esmo|vite-node|babel-node|@babel\/node|swc-node|pm2|concurrently|cross-env|dotenv-cli|env-cmd)$/

function optionsIn(launch: Launch, worktree: string | undefined): Injection[] {
  const { program, args, place } = launch
  const at = (index: number, judged: Judgement): Injection => ({ field: 'args', step: place(index), ...judged })
  const runtime = program.replace(/^(python|ruby|perl|php|lua)[\d.]+$/, '$1')
  if (SHELLS.includes(program) || ['cmd', 'powershell', 'pwsh'].includes(program)) return shellText(launch)
  if (npmPrograms.includes(program)) return npmInjections(launch, worktree)
  return optionsOf(runtime, args).map(({ index, option, text }) => at(index, judgeOption(option, text, worktree)))
}

/** Plain words were followed already; what is left only a shell understands. */
function shellText({ program, args, place }: Launch): Injection[] {
  const behind = findBehind(program, args)
  if (!behind || !('unclear' in behind)) return []
  const index = args.findIndex((text) => /^(?:-[A-Za-z]*c|--command|[/-]c|-e\w*|-command)\b/i.test(text))
  const what = `${program} runs a text instead of a file`
  return [{ field: 'args', step: place(Math.max(0, Math.min(index + 1, args.length - 1))), severity: 'error', what }]
}

function npmInjections({ program, args, place }: Launch, worktree: string | undefined): Injection[] {
  const launcher = parseLauncher(program, args)
  const end = launcher.kind === 'package' ? launcher.argument : args.length
  const options = args.slice(0, end).flatMap((text, index): Injection[] => {
    const [name = ''] = text.split('=', 1)
    if (!npmOptions.test(name)) return []
    return [{ field: 'args', step: place(index), severity: 'error', what: `${name} makes the launcher run other code` }]
  })
  if (launcher.kind !== 'package' || !runners.test(launcher.name)) return options
  const named = args.slice(end + 1).findIndex((text) => !text.startsWith('-'))
  const file = named === -1 ? undefined : args[end + 1 + named]
  if (file === undefined) return options
  const judged = judgePath(`${launcher.name} runs the file that it is given`, file, worktree)
  return [...options, { field: 'args', step: place(end + 1 + named), ...judged }]
}

type FoundOption = { index: number; option: { name: string; kind: Option['kind'] }; text: string }

/** Those before the program's own file; behind it they are the server's. */
function optionsOf(runtime: string, args: readonly string[]): FoundOption[] {
  const options = Object.hasOwn(byRuntime, runtime) ? byRuntime[runtime] : undefined
  const found: FoundOption[] = []
  for (let index = 0; options && index < args.length; index += 1) {
    const word = args[index] ?? ''
    const [name = '', inline] = splitOption(word, options)
    const option = options.find((each) => each.name.test(name))
    if (option) {
      found.push({ index, option: { name, kind: option.kind }, text: inline ?? args[index + 1] ?? '' })
      if (option.kind === 'code' || option.kind === 'cwd' || option.kind === 'script') break
      if (inline === undefined) index += 1
    } else if (!word.startsWith('-') && word !== 'run') break
    else if (/^(?:-C|--conditions|--env-file|-X|-W|-c|--config|-d)$/.test(word)) index += 1
  }
  return found
}

function splitOption(word: string, options: readonly Option[]): [string, string?] {
  const [, long, value] = /^(--?[^=:]+)[=:](.*)$/s.exec(word) ?? []
  if (long !== undefined && options.some((each) => each.name.test(long))) return [long, value ?? '']
  if (options.some((each) => each.name.test(word))) return [word]
  const [, short, rest] = attached.exec(word) ?? []
  return short === undefined ? [word] : [short, rest ?? '']
}

function judgeOption({ name, kind }: FoundOption['option'], text: string, worktree: string | undefined): Judgement {
  if (kind === 'code') return { severity: 'error', what: `${name} runs code from the arguments` }
  if (kind === 'script') return { severity: 'error', what: `${name} runs a script of the folder that the agent writes` }
  if (kind === 'cwd')
    return { severity: 'warning', what: `${name} looks for the module in the folder that the agent writes first` }
  if (/^\s*(?:data|blob|https?):/i.test(text)) return { severity: 'error', what: `${name} loads code from its value` }
  // Node and its like resolve a bare name from the folder they are started in, which is the agent's.
  const isBare = kind === 'module' && !/^(?:\/|file:\/\/\/|[A-Za-z]:[\\/]|node:)/.test(text)
  if (isBare || isInWorkspace(text, worktree))
    return { severity: 'error', what: `${name} loads code from the folder that the agent writes` }
  return { severity: 'warning', what: `${name} loads code that no digest vouches for` }
}

/** Whether one of the paths in a text lies where the agent writes: there by name, or relative to where a server is started. */
function isInWorkspace(text: string, worktree: string | undefined): boolean {
  const parts = text
    .split(/[\s,;]+|:(?!\/\/)/)
    .map((part) => part.replace(/^file:\/\/(?=\/)/, '').replace(/^-[\w-]*[=:]/, ''))
  const roots = ['/workspace', ...(worktree ? [worktree] : [])]
  return parts.some(
    (part, index) =>
      // An empty entry of a search path is the folder itself.
      (part === '' && parts.length > 1 && index > 0) ||
      /^(?:\.{1,2}(?:$|[\\/])|\$\{?(?:PWD|workspace\w*)\}?)/.test(part) ||
      roots.some((root) => part === root || part.startsWith(`${root}/`)) ||
      (/^[\w@][\w@.-]*(?:[\\/]|\.(?:[cm]?[jt]s|py|sh|rb|so|pl|jar)$)/.test(part) && !/^[A-Za-z]:[\\/]/.test(part)),
  )
}
