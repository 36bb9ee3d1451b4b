import type { Project } from './project.ts'
import { runProgram } from './run-command.ts'
import { COMMAND_LIMIT_MS, expectRecorded, readRun, recorded, type SuiteRun } from './suite-run.ts'
import { terminalEnvironment } from './terminal-environment.ts'

/** Sets the project up and tests it as its developer does in a terminal. */
export async function runOutside(project: Project, folder: string): Promise<SuiteRun> {
  if (project.setup) {
    await runInTerminal(recorded(project.setup, 'setup'), folder)
    expectRecorded('setup', folder)
  }
  return testOutside(project, folder)
}

/** The test command alone, in a folder that is set up. */
export async function testOutside(project: Project, folder: string): Promise<SuiteRun> {
  await runInTerminal(recorded(project.test, 'test'), folder)
  return readRun(project, folder)
}

async function runInTerminal(command: string, folder: string): Promise<void> {
  const options = { cwd: folder, env: terminalEnvironment(), timeoutMs: COMMAND_LIMIT_MS }
  await runProgram([...withoutCapabilities(), 'bash', '-c', command], options)
}

/** Root may read and write what its mode forbids, and no sandbox grants that: tests that expect a refusal would differ. */
function withoutCapabilities(): [] | [string, ...string[]] {
  return process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []
}
