import { findHiddenCharacters } from '@matrix/protocol'
import { isLiteralCredential } from '../manifest/credential.ts'
import { MAX_DEPTH } from './document.ts'
import type { Problem } from './finding.ts'
import { quoteText, shownText } from './quoted-text.ts'
import type { Path } from './source-text.ts'

/** Line ends of either kind are ordinary text. */
export function findHidden(text: string | null | undefined, path: Path): Problem[] {
  return text ? hiddenProblems(text.includes('\r') ? text.replaceAll('\r\n', '\n') : text, path) : []
}

/** In a value that a program reads, the end of a line is no more ordinary than any other control character. */
export function findControls(text: string, path: Path): Problem[] {
  return hiddenProblems(text, path)
}

function hiddenProblems(text: string, path: Path): Problem[] {
  const found = findHiddenCharacters(text)
  return found.length === 0
    ? []
    : [{ rule: 'MX024', path, message: `The text holds characters that nobody sees: ${found.join(', ')}.` }]
}

/** Credentials in the open anywhere inside a value whose form is not ours to know. */
export function findCredentials(value: unknown, path: Path): Problem[] {
  const step = path.at(-1)
  // Nearly every document has none, and is told without keeping track of the way to each of its texts.
  return hasCredential(value, typeof step === 'string' ? step : '', path.length) ? locateCredentials(value, path) : []
}

function hasCredential(value: unknown, name: string, depth: number): boolean {
  if (typeof value === 'string') return isLiteralCredential(name, value)
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false
  if (Array.isArray(value)) {
    for (const part of value) if (hasCredential(part, '', depth + 1)) return true
    return false
  }
  for (const key of Object.keys(value))
    if (isCredentialKey(key) || hasCredential((value as Record<string, unknown>)[key], key, depth + 1)) return true
  return false
}

/** No name of a field is as long as the shortest credential. */
function isCredentialKey(key: string): boolean {
  return key.length >= 20 && isLiteralCredential('', key)
}

function locateCredentials(value: unknown, path: Path): Problem[] {
  const step = path.at(-1)
  const name = typeof step === 'string' ? step : ''
  if (typeof value === 'string') return isLiteralCredential(name, value) ? [credentialProblem(name, path)] : []
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return []
  return Object.entries(value).flatMap(([key, part]) => {
    const below = [...path, Array.isArray(value) ? Number(key) : key]
    const asKey = isCredentialKey(key) ? [credentialKey(below)] : []
    return [...asKey, ...locateCredentials(part, below)]
  })
}

function credentialKey(path: Path): Problem {
  return { rule: 'MX008', path, at: 'key', message: 'The name of a field is a literal credential.' }
}

/** A credential may stand anywhere, so every text of a document is looked at; those in known places are told of there. */
export function addCredentials(problems: readonly Problem[], value: unknown): Problem[] {
  const everywhere = findCredentials(value, [])
  if (everywhere.length === 0) return [...problems]
  const known = new Set(problems.filter(({ rule }) => rule === 'MX008').map(({ path }) => JSON.stringify(path)))
  return [...problems, ...everywhere.filter(({ path }) => !known.has(JSON.stringify(path)))]
}

export function credentialProblem(name: string, path: Path): Problem {
  const variable = shownText(name).replace(/\W/g, '_').toUpperCase() || 'NAME'
  return {
    rule: 'MX008',
    path,
    message: name ? `${quoteText(name)} is given a literal credential.` : 'The text holds a literal credential.',
    fix: `Write \${env:${variable}} and revoke the value that was in the file.`,
  }
}
