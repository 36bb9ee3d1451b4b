/** What can be done to a task by a message that is only a command, in the order in which it is offered. */
export const slashCommands = {
  stop: { summary: 'Interrupt this task and everything below it', argument: undefined },
  resume: { summary: 'Let a stopped task go on', argument: undefined },
  compact: { summary: 'Have the conversation summed up', argument: undefined },
  budget: { summary: 'Set the budget in dollars', argument: 'usd' },
  review: { summary: 'Look at the changes', argument: undefined },
  merge: { summary: 'Merge the branch into its target', argument: undefined },
  squash: { summary: 'Merge the branch as one commit', argument: undefined },
  fork: { summary: 'Start a new task that knows what this one knows', argument: 'title' },
  close: { summary: 'End the task for good', argument: undefined },
  reset: { summary: 'Bring the task back to its beginning', argument: undefined },
} as const satisfies Record<string, { summary: string; argument: string | undefined }>

export type CommandName = keyof typeof slashCommands

export type Composed =
  | { kind: 'message'; text: string }
  | { kind: 'command'; name: CommandName; argument: string }
  | { kind: 'unknown command'; name: string }

const shape = /^\/([a-z]+)(?:[ \t]+(\S[^\n]*))?$/

/**
 * Reads what was typed. A command stands alone, or with the argument it takes: a sentence that begins with a slash is a message, as a
 * path is. `//` at the start stands for a message that begins with a slash.
 */
export function parseComposed(typed: string): Composed {
  const text = typed.trim()
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) }
  const [, name, argument = ''] = shape.exec(text) ?? []
  if (name === undefined) return { kind: 'message', text }
  const isSentence = argument !== '' && !(isCommand(name) && slashCommands[name].argument)
  if (isSentence) return { kind: 'message', text }
  return isCommand(name) ? { kind: 'command', name, argument: argument.trim() } : { kind: 'unknown command', name }
}

/** The commands that what is typed so far may become. */
export function suggestCommands(typed: string): CommandName[] {
  const [, start] = /^\/([a-z]*)$/.exec(typed) ?? []
  if (start === undefined) return []
  return Object.keys(slashCommands).filter((name): name is CommandName => isCommand(name) && name.startsWith(start))
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(slashCommands, name)
}
