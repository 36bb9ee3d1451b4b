import { findHiddenCharacters } from '@matrix/protocol'
import { isLiteralCredential } from '../manifest/credential.ts'
import { MAX_DEPTH } from './document.ts'
import type { Problem } from './finding.ts'
import type { Path } from './source-text.ts'

export function findHidden(text: string | null | undefined, path: Path): Problem[] {
  const found = text ? findHiddenCharacters(text) : []
  return found.length === 0
    ? []
    : [{ rule: 'MX024', path, message: `The text holds characters that nobody sees: ${found.join(', ')}.` }]
}

/** Credentials in the open anywhere inside a value whose form is not ours to know. */
export function findCredentials(value: unknown, path: Path): Problem[] {
  const step = path.at(-1)
  const name = typeof step === 'string' ? step : ''
  if (typeof value === 'string') return isLiteralCredential(name, value) ? [credentialProblem(name, path)] : []
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return []
  return Object.entries(value).flatMap(([key, part]) =>
    findCredentials(part, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

export function credentialProblem(name: string, path: Path): Problem {
  const variable = name.replace(/\W/g, '_').toUpperCase() || 'NAME'
  return {
    rule: 'MX008',
    path,
    message: name ? `"${name}" is given a literal credential.` : 'The text holds a literal credential.',
    fix: `Write \${env:${variable}} and revoke the value that was in the file.`,
  }
}
