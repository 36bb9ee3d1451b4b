/** The arguments of a call as people read them: the program that would run, and whatever else there is. */
export function splitInput(input: unknown): { program?: string; rest?: unknown } {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return { rest: input ?? null }
  const { command, script, ...rest } = input as Record<string, unknown>
  const program = command ?? script
  if (typeof program !== 'string' || (command !== undefined && script !== undefined)) return { rest: input }
  return { program, ...(Object.keys(rest).length > 0 ? { rest } : {}) }
}

/** The same in one line. */
export function callLine(input: unknown): string {
  const { program, rest } = splitInput(input)
  return (program ?? JSON.stringify(rest)).replace(/\s+/g, ' ')
}
