import type { TextPattern } from './playbook.ts'

/** Values that were captured so far, by name. */
export type Variables = ReadonlyMap<string, string>

export function matchesText(pattern: TextPattern, text: string, variables: Variables = new Map()): boolean {
  if (typeof pattern === 'string') return text.includes(fillIn(pattern, variables))
  return toRegExp(pattern).test(text)
}

export function formatPattern(pattern: TextPattern): string {
  return typeof pattern === 'string' ? JSON.stringify(pattern) : String(toRegExp(pattern))
}

/** Replaces `{{name}}` by what was captured under it; a name that was never captured stays as it is. */
function fillIn(text: string, variables: Variables): string {
  return text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => variables.get(name) ?? whole)
}

/** The same for every string inside a JSON value. */
export function fillInValue<Value>(value: Value, variables: Variables): Value {
  if (variables.size === 0) return value
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? fillIn(part, variables) : part))
}

function toRegExp(pattern: Exclude<TextPattern, string>): RegExp {
  return pattern instanceof RegExp
    ? new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    : new RegExp(pattern.regex, pattern.flags)
}
