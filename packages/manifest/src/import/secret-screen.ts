import type { Problem } from '../document/finding.ts'
import type { Path } from '../document/source-text.ts'
import { findCredentialArguments, isLiteralCredential, isSecretName } from '../manifest/credential.ts'
import { type EnvironmentNames, prefixed } from './environment-names.ts'
import type { NamedPiece, Piece } from './manifest-draft.ts'
import { isWritable, type Template, variableName } from './template.ts'

/** What takes the secrets out of one server's values on their way into a draft. */
export type Screen = { alias: string; names: EnvironmentNames; problems: Problem[] }

const scheme = /^(?:Bearer|Basic|Token|ApiKey)\s+/i
const assignment = /^(-{0,2}([A-Za-z][\w.-]*)[=:]\s*)(.*)$/s
const flag = /^--?([A-Za-z][\w.-]*)$/

/** The value of an environment variable, with a reference in place of every gap and of anything that looks secret. */
export function screenVariable({ name, ...piece }: NamedPiece, screen: Screen): string {
  return screenNamed(name, /^[A-Za-z_]\w*$/.test(name) ? name : variableName(name), piece, screen)
}

export function screenHeader({ name, ...piece }: NamedPiece, screen: Screen): string {
  return screenNamed(name, ownName(name, screen), piece, screen)
}

/** A text that nothing names, such as the command. */
export function screenText(label: string, piece: Piece, screen: Screen): string {
  return screenNamed('', ownName(label, screen), piece, screen)
}

export function screenArguments(pieces: readonly Piece[], screen: Screen): string[] {
  const texts = pieces.map((piece) => fillGaps(piece, ownName('argument', screen), screen))
  const flagged = new Set(findCredentialArguments(texts))
  const screened = texts.map((text, index) => {
    const path = pieces[index]?.path ?? []
    const before = flag.exec(texts[index - 1] ?? '')?.[1] ?? ''
    return screenArgument(text, before, flagged.has(index), path, screen)
  })
  // Whatever still looks like a credential goes as a whole.
  const left = new Set(findCredentialArguments(screened))
  return screened.map((text, index) =>
    left.has(index) ? hide(text, 'argument', ownName('argument', screen), pieces[index]?.path ?? [], screen) : text,
  )
}

function screenArgument(text: string, before: string, isFlagged: boolean, path: Path, screen: Screen): string {
  if (isCommandLine(text)) return screenWords(text, path, screen)
  const { start, name, value } = splitAssignment(text)
  if (start !== '' && isSecret(name, value))
    return start + hide(value, name, /^[A-Z][A-Z0-9_]*$/.test(name) ? name : ownName(name, screen), path, screen)
  const isValue = before !== '' && !text.startsWith('-')
  if (isFlagged || isOpaque(text)) {
    const label = isValue ? before : 'argument'
    return hide(text, label, ownName(label, screen), path, screen)
  }
  if (!isForPeople(isValue ? before : '', text)) return text
  return reference('', ownName(isValue ? before : text, screen), screen)
}

/** `TOKEN=x npx -y name`: several words, of which a secret is one. `Authorization: Bearer x` is a header. */
function isCommandLine(text: string): boolean {
  return /\S\s+\S/.test(text) && !/^(?:[\w-]+:\s|\s*[[{<])/.test(text) && !scheme.test(text)
}

/** Only the words that are secrets are taken out: without the others, what is started would be lost. */
function screenWords(text: string, path: Path, screen: Screen): string {
  const parts = text.split(/([\s'"`;&|()]+)/)
  const words = parts.filter((_, index) => index % 2 === 0)
  const flagged = new Set(findCredentialArguments(words))
  return parts
    .map((part, index) => {
      if (index % 2 === 1 || part === '') return part
      const before = flag.exec(words[index / 2 - 1] ?? '')?.[1] ?? ''
      return screenArgument(part, before, flagged.has(index / 2), path, screen)
    })
    .join('')
}

/** `TOKEN=x`, `--token=x`, or the inner one of `--env=TOKEN=x` where the outer name says nothing. */
function splitAssignment(text: string): { start: string; name: string; value: string } {
  const [, start = '', name = '', value = ''] = assignment.exec(text) ?? []
  const [, innerStart = '', innerName = '', innerValue = ''] = assignment.exec(value) ?? []
  return isSecretName(name) || !isSecretName(innerName)
    ? { start, name, value }
    : { start: start + innerStart, name: innerName, value: innerValue }
}

function screenNamed(name: string, wanted: string, piece: Piece, screen: Screen): string {
  const text = fillGaps(piece, wanted, screen)
  if (isSecret(name, text)) return hide(text, name, wanted, piece.path, screen)
  return isForPeople(name, text) ? reference('', wanted, screen) : text
}

/** The text of a template with a reference for each gap, or one reference for the whole where that could not be read back. */
export function fillGaps({ template, path }: Piece, wanted: string, screen: Screen): string {
  if (!isWritable(template)) return composed(template, wanted, path, screen)
  return template
    .map((part) => {
      if (typeof part === 'string') return part
      const name = screen.names.nameOf(part, screen.alias)
      if (part.fallback !== undefined) screen.problems.push(lostFallback(name, path))
      return `$env:${name}`
    })
    .join('')
}

function composed(template: Template, wanted: string, path: Path, screen: Screen): string {
  const text = reference(JSON.stringify(template), wanted, screen)
  const message = `A reference cannot be followed by a letter, so the draft has ${text} for this whole value.`
  screen.problems.push({ rule: 'MX029', path, message, fix: `Set ${text.slice(5)} to the whole value.` })
  return text
}

function lostFallback(name: string, path: Path): Problem {
  return {
    rule: 'MX029',
    path,
    message: `${name} has a default in this file, which a reference cannot carry.`,
    fix: `Set ${name} where Matrix runs.`,
  }
}

/** Puts a reference in place of a literal credential, keeping a word like `Bearer` before it, and says so without the value. */
export function hide(text: string, label: string, wanted: string, path: Path, screen: Screen): string {
  const [start = ''] = scheme.exec(text) ?? []
  const hidden = reference(text.slice(start.length), wanted, screen)
  screen.problems.push({
    rule: 'MX008',
    severity: 'warning',
    path,
    message: `"${screen.alias}" is given what looks like a credential${label && ` as "${label}"`}; the draft says ${hidden} instead.`,
    fix: `Set ${hidden.slice(5)} where Matrix runs; revoke the value if this file was ever shared.`,
  })
  return start + hidden
}

/** Equal secrets of one name are one variable; gaps that wait for a person (no secret yet) are each server's own. */
export function reference(secret: string, wanted: string, { names, alias }: Screen): string {
  return `$env:${names.claim(`literal ${wanted} ${secret || alias}`, wanted, alias)}`
}

export function ownName(label: string, { alias }: Screen): string {
  return prefixed(variableName(label), variableName(alias))
}

export function isSecret(name: string, value: string): boolean {
  return isLiteralCredential(name, value) || isOpaque(value)
}

/** A long run of letters and digits in no order a person would choose. A key is often no more than that; hiding an id costs nothing. */
function isOpaque(text: string): boolean {
  if (!/^[\w=~-]{20,}$/.test(text)) return false
  return text.split(/[^A-Za-z0-9]/).some((run) => run.length >= 20 && /\d\D*\d/.test(run) && /[A-Za-z]/.test(run))
}

/** `<your token>` and the empty value of a secret wait for a person to fill them in. */
function isForPeople(name: string, text: string): boolean {
  return /^<[^<>]*>$/.test(text) || (isSecretName(name) && /^(?:\{[\w .-]*\})?$/.test(text))
}
