import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Project } from './project.ts'
import type { Results } from './results/outcome.ts'
import { readers } from './results/read-results.ts'

/** The longest that an agent's command may take; the one outside gets no more. */
export const COMMAND_LIMIT_MS = 600_000
/** The exit codes of a shell from here on say that a signal ended the command. */
const SIGNALLED = 128

/** What one run of a test suite left behind. */
export type SuiteRun = { results: Results; ms: number }

/**
 * A command that keeps its whole output, exit code and duration in files: what an agent's tool answers is shortened. One line,
 * run by bash on both sides, so that both run the very same.
 */
export function recorded(command: string, name: string): string {
  const base = `.proving/${name}`
  return `mkdir -p .proving; s=$(date +%s%N); ( ${command} ) > ${base}.log 2>&1 < /dev/null; echo $? > ${base}.exit; echo $(( ($(date +%s%N) - s) / 1000000 )) > ${base}.ms; tail -n 5 ${base}.log`
}

/** Fails with the end of what a recorded command printed, unless it ended well. */
export function expectRecorded(name: string, folder: string): void {
  const exit = read(folder, `${name}.exit`).trim()
  if (exit === '0') return
  const end = read(folder, `${name}.log`).trimEnd().split('\n').slice(-10).join('\n')
  throw new Error(`${name} ended with ${exit || 'nothing'} in ${folder}:\n${end}`)
}

/** Reads what a recorded test command left in a folder. A run that was cut off says nothing about the tests it lacks. */
export function readRun({ format }: Project, folder: string): SuiteRun {
  const exit = read(folder, 'test.exit').trim()
  if (exit === '' || Number(exit) >= SIGNALLED) expectRecorded('test', folder)
  const log = read(folder, 'test.log').replaceAll(folder, '.')
  return { results: readers[format](log), ms: Number(read(folder, 'test.ms')) }
}

function read(folder: string, file: string): string {
  const path = join(folder, '.proving', file)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
