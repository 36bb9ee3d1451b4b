import { MatrixError } from '@matrix/protocol'
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import type * as z from 'zod'
import { Playbook } from './playbook.ts'

/** Reads a playbook from JSON text. What is wrong with it is named with its line and field. */
export function parsePlaybook(text: string, source = 'playbook'): Playbook {
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { disallowComments: true })
  const [error] = errors
  if (!tree || error)
    throw invalid(
      `${source}:${lineOf(text, error?.offset ?? 0)}: not JSON: ${error ? printParseErrorCode(error.error) : 'the file is empty'}`,
    )
  return checkPlaybook(JSON.parse(text), source, (path) => `:${lineOf(text, nearest(tree, path).offset)}`)
}

/** Throws `PLAYBOOK_INVALID` unless the value is a playbook that can be played. */
export function checkPlaybook(
  value: unknown,
  source = 'playbook',
  locate: (path: PropertyKey[]) => string = () => '',
): Playbook {
  const result = Playbook.safeParse(value)
  if (result.success) return result.data
  const lines = result.error.issues
    .map((issue) => deepest(issue))
    .map(({ path, message }) => `${source}${locate(path)}: ${path.join('.') || 'the file'}: ${message}`)
  throw invalid(lines.join('\n'))
}

type Issue = { path: PropertyKey[]; message: string }

/** Of the ways in which a value is none of several things, the one that came closest: the problem lies deepest. */
function deepest(issue: z.core.$ZodIssue): Issue {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors
    .flat()
    .map((nested) => deepest(nested))
    .map(({ path, message }) => ({ path: [...issue.path, ...path], message }))
    .toSorted((a, b) => b.path.length - a.path.length)
  const [first] = inner
  return first && first.path.length > issue.path.length ? first : issue
}

function invalid(message: string): MatrixError {
  return new MatrixError('PLAYBOOK_INVALID', message)
}

/** The value that a path names, or the innermost one on the way there that exists. */
function nearest(tree: Node, path: PropertyKey[]): Node {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(tree, path.slice(0, length) as (string | number)[])
    if (node) return node
  }
  return tree
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
