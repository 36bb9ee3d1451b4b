import type { Command } from 'commander'
import type { ExitCode } from './exit-code.ts'
import { wrapText } from './text-width.ts'

/** Told how the command ended. */
export type Done = (code: ExitCode) => void

/** How a task is named. */
export const taskArgument = 'root, the first characters of its id, or a part of its title'
export const project = ['-p, --project <name>', 'name, id or folder; the project of this folder when left out'] as const
export const json = ['--json', 'print JSON for programs'] as const
export const yes = ['-y, --yes', 'do not ask'] as const

/** What stands below the options of a command, as wide as the rest of its help. */
export function note(text: string): string {
  return `\n${wrapText(text, 80).join('\n')}`
}

/** What a group does when it is called alone. A word that is none of its commands is told so, instead of being one too many. */
export function defaultCommand(group: Command, name: string): Command {
  return group
    .command(name, { isDefault: true })
    .allowExcessArguments()
    .hook('preAction', (_, { args: [unknown] }) => {
      if (unknown === undefined) return
      const names = group.commands.map((command) => command.name())
      group.error(`error: unknown command '${unknown}'\n(matrix ${group.name()} has ${names.join(', ')})`)
    })
}

/** An option that may be repeated. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value]
}

/** A flag for each kind of budget. */
export function addBudgetFlags(command: Command, whose: string): Command {
  return command
    .option('--budget <usd>', `the most that ${whose} may cost`)
    .option('--budget-tokens <count>', `the most tokens that ${whose} may use, such as 500k`)
    .option('--budget-time <time>', `how long ${whose} may be at work, such as 30m`)
}
