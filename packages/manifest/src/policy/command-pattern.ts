import { RE2JS } from 're2js'

/** A regular expression over a whole command, or why it is none. */
export type CommandPattern = { matches: (command: string) => boolean } | { reason: string }

/** Far above any pattern a person writes. */
const MAX_LENGTH = 2_000

/**
 * Reads the notation that command lists are written in: regular expressions without look-around and back-references,
 * which is what makes it possible to match any of them in one pass over the command.
 */
export function parseCommandPattern(text: string, { dotAll = false } = {}): CommandPattern {
  if (text.length > MAX_LENGTH) return { reason: `it is longer than ${MAX_LENGTH} characters` }
  try {
    const compiled = RE2JS.compile(text, dotAll ? RE2JS.DOTALL : 0)
    return { matches: (command) => compiled.testExact(command) }
  } catch (error) {
    return { reason: error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error) }
  }
}

/** Whether one of the patterns is the whole of one simple command. One that cannot be read allows nothing. */
export function isCommandAllowed(patterns: readonly string[], command: string): boolean {
  return patterns.some((text) => {
    const pattern = recall(text)
    return 'matches' in pattern && pattern.matches(command)
  })
}

/**
 * The same for a deny list, erring on the side of denial: one that cannot be read denies everything.
 */
export function isCommandDenied(patterns: readonly string[], command: string): boolean {
  return patterns.some((text) => {
    const pattern = recall(text)
    return !('matches' in pattern) || pattern.matches(command)
  })
}

/** The characters that every match of a pattern begins with; none where that cannot be told at a glance. */
export function findFixedStart(text: string): string {
  if (text.includes('|')) return ''
  const [start = ''] = /^[^\\^$.*+?()[\]{}]*/.exec(text) ?? []
  return /^[*?{]/.test(text.slice(start.length)) ? start.slice(0, -1) : start
}

const compiled = new Map<string, CommandPattern>()
const MAX_COMPILED = 1_000

/** `.` also matches a line break: in one command it can only stand inside a word. */
function recall(text: string): CommandPattern {
  const known = compiled.get(text)
  if (known) return known
  const pattern = parseCommandPattern(text, { dotAll: true })
  if (compiled.size >= MAX_COMPILED) compiled.clear()
  compiled.set(text, pattern)
  return pattern
}
