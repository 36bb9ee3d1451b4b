import type { ProjectStorage, SandboxView } from '@matrix/orchestrator'
import { printableLine } from '@matrix/protocol'
import { formatBytes } from '@matrix/protocol/display'
import { colorsFor } from './terminal.ts'

/** What an agent's sandbox has, for a person to read. */
export function formatSandbox(view: SandboxView, storage: readonly ProjectStorage[]): string {
  const { dim, bold } = colorsFor(process.stdout)
  const width = Math.max(...view.programs.map(({ name, version }) => name.length + version.length + 1), 0)
  const programs = view.programs.map(({ name, version, path }) =>
    printableLine(`${`${name} ${version}`.padEnd(width)}  ${path}`),
  )
  const reasons = [
    ...view.skipped.map(({ path, reason }) => printableLine(`${path}: ${reason}`)),
    ...view.withheld.map(({ name, reason }) => printableLine(`${name}: ${reason}`)),
  ]
  const homes = storage.map(({ home, homeBytes, worktreesBytes }) =>
    printableLine(`${formatBytes(homeBytes).padStart(8)}  ${home} (worktrees: ${formatBytes(worktreesBytes)})`),
  )
  const sections: [string, readonly string[]][] = [
    ['programs', programs],
    ['read from', view.folders.map(printableLine)],
    ['left out', reasons],
    ['variables', view.variables.length > 0 ? [view.variables.join(' ')] : []],
    ['limits', [formatLimits(view.limits)]],
    ['homes', homes],
  ]
  const lines = sections.flatMap(([name, rows]) =>
    rows.map((row, index) => `  ${dim((index === 0 ? name : '').padEnd(10))} ${row}`),
  )
  return [bold('An agent’s sandbox has'), ...lines].join('\n')
}

function formatLimits({ processes, openFiles, memoryBytes, fileBytes, sharedBytes }: SandboxView['limits']): string {
  return [
    `${processes} processes`,
    `${openFiles} open files`,
    `${formatBytes(memoryBytes)} of memory`,
    `${formatBytes(fileBytes)} for one file`,
    `${formatBytes(sharedBytes)} in /dev/shm`,
    '/tmp on disk',
  ].join(', ')
}
