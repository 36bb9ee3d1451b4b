import { findHiddenCharacters } from '@matrix/protocol'
import { isLiteralCredential } from '../manifest/credential.ts'
import { MAX_DEPTH } from './document.ts'
import type { Problem } from './finding.ts'
import { quoteText, shownText } from './quoted-text.ts'
import type { Path } from './source-text.ts'

/** Line ends of either kind are ordinary text. */
export function findHidden(text: string | null | undefined, path: Path): Problem[] {
  return text ? hiddenProblems(text.replaceAll('\r\n', '\n'), path) : []
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
  const found: Problem[] = []
  walkCredentials(value, [...path], found)
  return found
}

function walkCredentials(value: unknown, path: (string | number)[], found: Problem[]): void {
  if (typeof value === 'string') {
    const step = path.at(-1)
    const name = typeof step === 'string' ? step : ''
    if (isLiteralCredential(name, value)) found.push(credentialProblem(name, [...path]))
    return
  }
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return
  const isList = Array.isArray(value)
  for (const key of Object.keys(value)) {
    path.push(isList ? Number(key) : key)
    walkCredentials((value as Record<string, unknown>)[key], path, found)
    path.pop()
  }
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
