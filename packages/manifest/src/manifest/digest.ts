import { createHash } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import canonicalize from 'canonicalize'
import { MAX_DEPTH } from '../document/document.ts'

/** `sha256:` and the hex digest of some bytes, such as a package file. */
export function digestBytes(bytes: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** The content address of a JSON value: the digest of its one canonical form (RFC 8785), whatever its spacing or key order. */
export function digestValue(value: unknown): string {
  return digestBytes(canonicalForm(value))
}

export function canonicalForm(value: unknown): string {
  try {
    assertDepth(value, 0)
    const text = canonicalize(value)
    if (text !== undefined) return text
  } catch (cause) {
    if (cause instanceof MatrixError) throw cause
    throw new MatrixError(
      'VALUE_NOT_CANONICAL',
      `The value has no canonical JSON form: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    )
  }
  throw new MatrixError('VALUE_NOT_CANONICAL', 'The value has no JSON form.')
}

function assertDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth >= MAX_DEPTH)
    throw new MatrixError('VALUE_NOT_CANONICAL', `The value is nested more than ${MAX_DEPTH} levels deep.`)
  for (const part of Object.values(value)) assertDepth(part, depth + 1)
}

const repeated = /^sha256:(.)\1*(?:(.)(?:\1|\2)*)?$/

/** A digest that stands for nothing: one or two distinct digits, as people type when they mean to fill it in later. */
export function isPlaceholderDigest(digest: string): boolean {
  return repeated.test(digest)
}

/** What a manifest is called by: the digest of what the author wrote, references unresolved, editor hints aside. */
export function manifestDigest(document: unknown): string {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return digestValue(document)
  const { $schema: _editorHint, ...content } = document as Record<string, unknown>
  return digestValue(content)
}
