import { findFixedStart, isCommandAllowed, isCommandDenied } from '@matrix/manifest'
import type { Piece, ShellText, SimpleCommand } from './shell-text.ts'

/** What an expansion may turn into. A pattern that accepts all of these does not care. */
const probes = ['', 'x', '-x', '--x=/y', '/etc/x', '../x', 'x y', ';|&', 'é']

/** Whether each command of a text is allowed by one of the patterns, and nothing else happens that they cannot speak of. */
export function isShellAllowed(patterns: readonly string[], shell: ShellText): boolean {
  if (shell.unknown !== undefined || shell.hasFiles || shell.commands.length === 0) return false
  return shell.commands.every(
    (command) => command.isTransparent || spellings(command).every((text) => isCommandAllowed(patterns, text)),
  )
}

/** Whether the text or a command of it is denied; `undefined` when that depends on what the text does not show. */
export function isShellDenied(patterns: readonly string[], shell: ShellText): boolean | undefined {
  const texts = [shell.text, ...shell.commands.flatMap(deniedSpellings)]
  if (texts.some((text) => isCommandDenied(patterns, text))) return true
  if (shell.unknown !== undefined) return undefined
  return shell.commands.some((command) => mayBecomeDenied(patterns, command)) ? undefined : false
}

/** Once as it is, and once so that a blank inside a word does not pass for one between two. */
function spellings({ words }: SimpleCommand): string[] {
  const fills = words.flat().includes(undefined) ? probes : ['']
  return fills.flatMap((fill) => {
    const texts = words.map((word) => word.map((piece) => piece ?? fill).join(''))
    return [...new Set([texts.join(' '), texts.map((text) => text.replace(/\s/g, '_')).join(' ')])]
  })
}

function deniedSpellings({ words }: SimpleCommand): string[] {
  const texts = words.map((word) => word.map((piece) => piece ?? '').join(''))
  const bare = texts.slice(texts.findIndex((text) => !/^[A-Za-z_]\w*\+?=/.test(text)))
  const [program = '', ...rest] = bare
  const named = [program.slice(program.lastIndexOf('/') + 1), ...rest]
  return [texts, bare, named].map((each) => each.join(' '))
}

/** As far as the fixed start of the command and that of a pattern tell. */
function mayBecomeDenied(patterns: readonly string[], { words }: SimpleCommand): boolean {
  const pieces: Piece[] = words.flatMap((word, index) => (index === 0 ? word : [' ', ...word]))
  const hole = pieces.indexOf(undefined)
  if (hole === -1) return false
  const known = pieces.slice(0, hole).join('')
  return patterns.some((pattern) => {
    const start = findFixedStart(pattern)
    return known.startsWith(start) || start.startsWith(known)
  })
}
