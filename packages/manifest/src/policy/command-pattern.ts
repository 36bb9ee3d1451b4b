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

/** Whether one of the patterns is the whole command. One that cannot be read allows nothing. */
export function isCommandAllowed(patterns: readonly string[], command: string): boolean {
  return patterns.some((text) => {
    const pattern = parseCommandPattern(text)
    return 'matches' in pattern && pattern.matches(command)
  })
}

/**
 * The same for a deny list, erring on the side of denial: one that cannot be read denies everything, and `.` also
 * matches a line break, or a second line would be a way past it.
 */
export function isCommandDenied(patterns: readonly string[], command: string): boolean {
  return patterns.some((text) => {
    const pattern = parseCommandPattern(text, { dotAll: true })
    return !('matches' in pattern) || pattern.matches(command)
  })
}
