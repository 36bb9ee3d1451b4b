import type * as z from 'zod'
import type { Problem } from './finding.ts'
import { quoteText, shownText } from './quoted-text.ts'
import type { RuleId } from './rule.ts'

type Issue = z.core.$ZodIssue

/** A field's own rule, and its own words where the general ones would not help. */
export type FieldRule = (issue: Issue, found: unknown) => { rule: RuleId; message?: string } | undefined

/** What a schema finds wrong, as problems in the words of a person. */
export function schemaProblems(error: z.ZodError, value: unknown, ruleOf: FieldRule): Problem[] {
  return error.issues.flatMap((issue) => issueProblems(issue, value, ruleOf))
}

/** The general advice names the schema of Matrix's own manifest, which is no help with another format. */
export function inOtherFormat(problem: Problem): Problem {
  return problem.rule === 'MX001'
    ? { fix: 'Give the field the type and value that the message names.', ...problem }
    : problem
}

function issueProblems(issue: Issue, value: unknown, ruleOf: FieldRule): Problem[] {
  const path = issue.path as (string | number)[]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      rule: 'MX025',
      path: [...path, key],
      message: `Unknown field ${quoteText(key)}.`,
      at: 'key',
    }))

  const found = valueAt(value, path)
  const own = ruleOf(issue, found)
  const name = path.length === 0 ? 'The document' : `"${path.map((step) => shownText(String(step))).join('.')}"`
  return [{ rule: own?.rule ?? 'MX001', path, message: `${name} ${own?.message ?? complaint(issue, found)}.` }]
}

function complaint(issue: Issue, found: unknown): string {
  if (found === undefined && issue.code === 'invalid_type') return `is required: ${typeWord(issue.expected)}`
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeWord(issue.expected)}, not ${kindOf(found)}`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map((each) => JSON.stringify(each)).join(', ')}`
    case 'too_small':
      return issue.origin === 'array' || issue.origin === 'string'
        ? 'must not be empty'
        : `must be at least ${issue.minimum}`
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`
    case 'invalid_union':
      return found === undefined ? 'is required' : 'has none of the forms that are allowed here'
    default:
      // A message of our own stands in the schema beside the pattern it explains.
      return `must be ${issue.message}`
  }
}

function typeWord(expected: string): string {
  const words: Record<string, string> = {
    string: 'text',
    array: 'a list',
    object: 'an object',
    record: 'an object',
    boolean: 'true or false',
    number: 'a number',
    int: 'a whole number',
  }
  return words[expected] ?? expected
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : typeWord(typeof value)
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (part, step) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, step)
        ? (part as Record<string | number, unknown>)[step]
        : undefined,
    value,
  )
}
