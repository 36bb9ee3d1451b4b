/** What a wrapper starts, and which of the wrapper's own arguments holds an argument of it; or that nobody can tell. */
export type Behind =
  | { command: string; args: readonly string[]; place: (argument: number) => number }
  | { unclear: string }
  | undefined

type Wrapper = { switches?: RegExp; valued?: readonly string[]; skips?: number; assignments?: boolean }

// Programs that start the command behind their own options; `skips` plain arguments stand before it.
const wrappers: Readonly<Record<string, Wrapper>> = {
  env: {
    switches: /^(?:-|-[i0v]+|--ignore-environment|--null|--debug)$/,
    valued: ['-u', '--unset', '-C', '--chdir', '-P'],
    assignments: true,
  },
  timeout: {
    switches: /^(?:-[vfp]|--verbose|--foreground|--preserve-status)$/,
    valued: ['-k', '--kill-after', '-s', '--signal'],
    skips: 1,
  },
  nice: { switches: /^-\d+$/, valued: ['-n', '--adjustment'] },
  ionice: { switches: /^-t$/, valued: ['-c', '--class', '-n', '--classdata'] },
  stdbuf: { valued: ['-i', '--input', '-o', '--output', '-e', '--error'] },
  setsid: { switches: /^(?:-[cfw]+|--ctty|--fork|--wait)$/ },
  sudo: { switches: /^-[EHnSbk]+$/, valued: ['-u', '-g', '-h', '-p', '-C', '-D', '-R', '-T'], assignments: true },
  doas: { switches: /^-[Ln]+$/, valued: ['-u', '-C'] },
  caffeinate: { switches: /^-[dimsu]+$/, valued: ['-t', '-w'] },
  exec: { switches: /^-[cl]+$/, valued: ['-a'] },
  command: { switches: /^-p$/ },
  time: { switches: /^-[pv]$/ },
  start: { switches: /^\/\w+$/ },
  ...Object.fromEntries(
    ['nohup', 'eval', 'builtin', 'call', 'busybox', 'corepack', 'winpty'].map((name) => [name, {}]),
  ),
}

export const SHELLS: readonly string[] = ['sh', 'bash', 'zsh', 'dash', 'ash', 'ksh', 'fish']
const byShell = 'a shell works out what it runs'
const byOption = 'an option before it is not known here'

/** `cmd /c npx …`, `env A=b npx …`, `timeout 10 npx …` and `sh -c "npx …"` start what stands behind them. */
export function findBehind(program: string, args: readonly string[]): Behind {
  if (program === 'cmd') return behindCmd(args)
  if (program === 'powershell' || program === 'pwsh')
    return args.length === 0 || args.some((text) => /^-f(?:ile)?$/i.test(text)) ? undefined : { unclear: byShell }
  if (SHELLS.includes(program)) return behindShell(args)
  const wrapper = Object.hasOwn(wrappers, program) ? wrappers[program] : undefined
  return wrapper && behindWrapper(program, wrapper, args)
}

function behindWrapper(program: string, wrapper: Wrapper, args: readonly string[]): Behind {
  const { switches, valued = [], skips = 0, assignments = false } = wrapper
  let index = 0
  for (; index < args.length; index += 1) {
    const text = args[index] ?? ''
    if (text === '--') {
      index += 1
      break
    }
    if (program === 'env' && /^(?:-S|--split-string)/.test(text)) return behindSplit(args, index)
    if (switches?.test(text) || (assignments && /^[^-=][^=]*=/.test(text))) continue
    if (valued.includes(text)) index += 1
    else if (/^-./.test(text) && !hasInlineValue(text, valued)) return { unclear: byOption }
    else if (!text.startsWith('-')) break
  }
  return behindIndex(args, index + skips)
}

/** `--signal=KILL` or `-n10`: an option that takes a value, with the value in the same argument. */
function hasInlineValue(text: string, valued: readonly string[]): boolean {
  return valued.some((option) => text.startsWith(option.startsWith('--') ? `${option}=` : option))
}

function behindIndex(args: readonly string[], start: number): Behind {
  const command = args[start]
  if (command === undefined) return undefined
  return { command, args: args.slice(start + 1), place: (argument) => argument + start + 1 }
}

/** `env -S "npx -y name"`: the words of the text, then the arguments after it. */
function behindSplit(args: readonly string[], index: number): Behind {
  const option = args[index] ?? ''
  const inline = option.replace(/^(?:-S|--split-string=?)/, '')
  const at = inline === '' ? index + 1 : index
  return behindText(inline === '' ? args[at] : inline, at, args.slice(at + 1))
}

function behindShell(args: readonly string[]): Behind {
  let index = 0
  let runsText = false
  for (; /^[-+]./.test(args[index] ?? ''); index += 1) {
    const text = args[index] ?? ''
    if (/^-[A-Za-z]*c|^--command/.test(text)) runsText = true
    if (/^[-+][A-Za-z]*o$|^--(?:rc|init-)file$/i.test(text)) index += 1
    if (/^--command=/.test(text)) return { unclear: byShell }
  }
  return runsText ? behindText(args[index], index) : undefined
}

function behindCmd(args: readonly string[]): Behind {
  const at = args.findIndex((text) => /^\/[ck]/i.test(text))
  if (at === -1) return undefined
  const [first = '', ...rest] = args.slice(at + 1)
  if (args[at]?.length !== 2 || args.slice(at + 1).some((text) => /[&|<>^]/.test(text))) return { unclear: byShell }
  // To this shell a backslash is part of a path; to the others it hides the next letter.
  return first.includes(' ') ? behindText(first.replaceAll('\\', '/'), at + 1, rest) : behindIndex(args, at + 1)
}

/** Only plain words: what a shell makes of anything else is not for us to guess. */
function behindText(text: string | undefined, at: number, more: readonly string[] = []): Behind {
  if (text === undefined) return undefined
  if (!/^[\w@%+=:,./~ -]+$/.test(text)) return { unclear: byShell }
  const words = text.trim().split(/ +/)
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word))
  const [command = '', ...rest] = words.slice(Math.max(start, 0))
  const place = (argument: number) => (argument < rest.length ? at : at + 1 + argument - rest.length)
  return { command, args: [...rest, ...more], place }
}
