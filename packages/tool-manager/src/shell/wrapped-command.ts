import type { Piece } from './shell-text.ts'

/** What a command runs in its turn. */
export type Inner =
  | { kind: 'words'; commands: Piece[][][]; isTransparent?: true }
  | { kind: 'text'; text: string; isTransparent?: true }
  | { kind: 'unknown' }

const unknown: Inner = { kind: 'unknown' }

type Wrapper = {
  /** Options that take the next word. */ values?: string /** Words before the command. */
  skip?: number
}

/** Programs that run the rest of their words, and nothing else. Options that are not named here are not understood. */
const wrappers: Record<string, Wrapper> = {
  builtin: {},
  command: {},
  exec: {},
  ionice: { values: 'c n' },
  nice: { values: 'n' },
  nohup: {},
  setsid: {},
  stdbuf: { values: 'i o e' },
  time: {},
  timeout: { values: 'k s', skip: 1 },
}

const shells = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh', 'rbash'])
/** They run other programs in ways of their own. */
const opaque = new Set(
  'busybox chroot coproc doas flock ltrace nsenter parallel pkexec runuser script setpriv strace su sudo toybox unshare watch'.split(
    ' ',
  ),
)
/** Builtins that evaluate subscripts in their words, quoted or not. */
const evaluating = new Set(
  '[ declare export getopts let local mapfile printf read readarray readonly test typeset unset wait'.split(' '),
)

/** What a command runs besides itself; `undefined` when it runs nothing that its words name. */
export function findInner(words: readonly Piece[][]): Inner | undefined {
  const start = words.findIndex((word) => !isAssignment(word))
  if (start === -1) return undefined
  const [program, ...rest] = words.slice(start)
  const name = program && textOf(program)
  if (name === undefined || /\s/.test(name)) return unknown
  const base = name.slice(name.lastIndexOf('/') + 1)
  const isTransparent = name === base && start === 0
  if (evaluating.has(base)) return rest.some((word) => /\$[({[]|`/.test(textOf(word) ?? '$(')) ? unknown : undefined
  if (opaque.has(base)) return unknown
  if (shells.has(base)) return shellInner(rest)
  if (base === 'eval') return evalInner(rest, isTransparent)
  if (base === 'trap') return rest.length === 0 ? undefined : textInner(rest[0] ?? [])
  if (base === 'source' || base === '.') return undefined
  if (base === 'env') return envInner(rest)
  if (base === 'xargs') return xargsInner(rest)
  if (base === 'find') return findExecInner(rest)
  const wrapper = Object.hasOwn(wrappers, base) ? wrappers[base] : undefined
  return wrapper && wrapperInner(base, wrapper, rest, isTransparent)
}

function wrapperInner(
  base: string,
  { values = '', skip = 0 }: Wrapper,
  rest: readonly Piece[][],
  isTransparent: boolean,
) {
  if (base === 'command' && /^-[vVp]*[vV]/.test(textOf(rest[0] ?? []) ?? '')) return undefined
  const at = skipOptions(rest, values.split(' '))
  if (at === undefined) return unknown
  const inner = rest.slice(at + skip)
  return wrapped(inner, isTransparent)
}

function wrapped(inner: readonly Piece[][], isTransparent: boolean): Inner | undefined {
  if (inner.length === 0) return undefined
  return { kind: 'words', commands: [[...inner]], ...(isTransparent && { isTransparent }) }
}

/** Where the words after the options begin; `undefined` if one of them is not understood. */
function skipOptions(words: readonly Piece[][], values: readonly string[]): number | undefined {
  for (let at = 0; at < words.length; at += 1) {
    const text = textOf(words[at] ?? [])
    if (text === undefined) return undefined
    if (text === '--') return at + 1
    if (!text.startsWith('-') || text === '-') return at
    const letter = /^-([a-zA-Z])(.*)$/s.exec(text)
    if (letter && values.includes(letter[1] ?? '')) at += letter[2] === '' ? 1 : 0
    else if (!/^-\d+$/.test(text)) return undefined
  }
  return words.length
}

/** `-c` and its text. A script in a file is for a pattern to name; one from the input is not visible. */
function shellInner(words: readonly Piece[][]): Inner | undefined {
  const [options, text] = [textOf(words[0] ?? []), words[1]]
  if (options !== undefined && /^[^-+]/.test(options)) return undefined
  return options !== undefined && /^-[eux]*c$/.test(options) && text ? textInner(text) : unknown
}

function evalInner(words: readonly Piece[][], isTransparent: boolean): Inner {
  const texts = words.map(textOf)
  if (texts.some((text) => text === undefined)) return unknown
  return { kind: 'text', text: texts.join(' '), ...(isTransparent && { isTransparent }) }
}

function textInner(word: readonly Piece[]): Inner {
  const text = textOf(word)
  return text === undefined ? unknown : { kind: 'text', text }
}

function envInner(words: readonly Piece[][]): Inner | undefined {
  const at = words.findIndex((word) => textOf(word) !== '-i')
  if (at === -1) return undefined
  return (textOf(words[at] ?? []) ?? '-').startsWith('-') ? unknown : wrapped(words.slice(at), false)
}

/** What comes from the input stands behind the words, or where the option `-I` says. */
function xargsInner(words: readonly Piece[][]): Inner {
  let at = 0
  let place: string | undefined
  for (; at < words.length; at += 1) {
    const text = textOf(words[at] ?? [])
    if (text === undefined) return unknown
    if (!text.startsWith('-')) break
    if (text === '-I') place = textOf(words[++at] ?? [])
    else if (/^-[nPLds]$/.test(text)) at += 1
    else if (!/^-(?:[0rtx]+|[nPL]\d+)$/.test(text)) return unknown
  }
  const inner = words.slice(at)
  if (inner.length === 0) return unknown
  const filled = place === undefined ? [...inner, [undefined]] : inner.map((word) => replaced(word, place))
  return { kind: 'words', commands: [filled] }
}

function replaced(word: readonly Piece[], place: string): Piece[] {
  return textOf(word)?.includes(place) === false ? [...word] : [undefined]
}

function findExecInner(words: readonly Piece[][]): Inner | undefined {
  const texts = words.map(textOf)
  // A variable or a pattern may stand for an option.
  if (texts.some((text) => text === undefined)) return unknown
  const commands: Piece[][][] = []
  for (let at = 0; at < texts.length; at += 1) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(texts[at] ?? '')) continue
    const end = texts.findIndex((text, index) => index > at && (text === ';' || text === '+'))
    if (end === -1 || end === at + 1) return unknown
    commands.push(words.slice(at + 1, end).map((word) => replaced(word, '{}')))
    at = end
  }
  return commands.length === 0 ? undefined : { kind: 'words', commands }
}

function isAssignment([first]: readonly Piece[]): boolean {
  return first !== undefined && /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(first)
}

/** `undefined` when a part of the word is known to the shell only. */
function textOf(word: readonly Piece[]): string | undefined {
  return word.includes(undefined) ? undefined : word.join('')
}
