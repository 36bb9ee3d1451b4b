import type { ExitCode } from './exit-code.ts'

/** Told how the command ended. */
export type Done = (code: ExitCode) => void

/** How a task is named. */
export const taskArgument = 'root, the first characters of its id, or a part of its title'
export const project = ['-p, --project <name>', 'name, id or folder; the project of this folder when left out'] as const
export const json = ['--json', 'print JSON for programs'] as const
export const yes = ['-y, --yes', 'do not ask'] as const

/** An option that may be repeated. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value]
}
