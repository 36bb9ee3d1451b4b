import { printable, printableLine } from '@matrix/protocol'
import { describeSource, plural } from '@matrix/protocol/display'
import type { ChangesView, FileChange, FlaggedFile } from '@matrix/protocol/http'
import { paintPatch } from '../event-lines.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openTask, type PlaceOptions } from '../place.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type ChangesOptions = PlaceOptions & { stat?: boolean; path?: string; ignoreWhitespace?: boolean; json?: boolean }

/** What a task's branch would bring to its target, as a patch or in numbers. */
export async function taskChanges(name: string, options: ChangesOptions): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const changes = await client.getChanges({
    projectId: project.id,
    taskId: task.id,
    hunks: options.stat ? 'false' : 'true',
    ...(options.ignoreWhitespace ? { ignoreWhitespace: 'true' } : {}),
    ...(options.path === undefined ? {} : { path: options.path }),
  })
  if (options.json) printJson(changes)
  else
    print(
      [...(options.stat ? changes.files.map(formatStat) : changes.files.flatMap(formatPatch)), summarize(changes)].join(
        '\n',
      ),
    )
  return exitCode.ok
}

/** What the changes amount to, and whether they merge. */
export function summarize(changes: ChangesView): string {
  const { bold, green, red, yellow, dim } = colorsFor(process.stdout)
  const { files, additions, deletions, conflicts, flagged, uncommitted, branch, targetBranch, behind, problem } =
    changes
  const { untrusted = [] } = changes
  const amount = `${plural(files.length, 'file')}, ${green(`+${additions}`)} ${red(`−${deletions}`)}`
  const notes = [
    ...(changes.isTruncated ? [dim('  only a part is shown: name a file with --path to see all of it')] : []),
    ...(behind > 0 ? [dim(`  ${targetBranch} has ${plural(behind, 'commit')} that it lacks`)] : []),
    ...(problem ? [yellow(`  ${printableLine(problem)}: commits there are not part of this`)] : []),
    ...(uncommitted.length > 0
      ? [yellow(`  not committed: ${uncommitted.slice(0, 10).map(printableLine).join(', ')}`)]
      : []),
    ...(untrusted.length > 0
      ? [
          yellow(
            `  written after untrusted content was read: ${untrusted.map(describeSource).map(printableLine).join('; ')}`,
          ),
        ]
      : []),
    ...flaggedLines(flagged),
    ...(conflicts.length > 0 ? [red(`  conflicts in ${conflicts.map(printableLine).join(', ')}`)] : []),
  ]
  return [`${bold(`${printableLine(branch)} → ${printableLine(targetBranch)}`)}  ${amount}`, ...notes].join('\n')
}

function flaggedLines(flagged: readonly FlaggedFile[]): string[] {
  const { yellow } = colorsFor(process.stdout)
  if (flagged.length === 0) return []
  const files = flagged.map(({ path, reasons }) => `  ! ${printableLine(path)}: ${reasons.join(' ')}`)
  const words = flagged.length === 1 ? '1 file that runs by itself' : `${flagged.length} files that run by themselves`
  return [`  ${words}:`, ...files].map((line) => yellow(line))
}

const letters: Record<FileChange['status'], string> = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  renamed: 'R',
  retyped: 'T',
}

function formatStat({ status, path, oldPath, additions, deletions, isBinary }: FileChange): string {
  const { green, red, dim } = colorsFor(process.stdout)
  const numbers = isBinary ? dim('binary') : `${green(`+${additions ?? 0}`)} ${red(`−${deletions ?? 0}`)}`
  return `${letters[status]}  ${oldPath ? `${printableLine(oldPath)} → ` : ''}${printableLine(path)}  ${numbers}`
}

/** As git prints it, so that other programs can read it too. */
function formatPatch({ path, oldPath = path, status, hunks = [], isBinary, isSubmodule }: FileChange): string[] {
  const colors = colorsFor(process.stdout)
  const head = [
    colors.bold(`diff --git a/${printableLine(oldPath)} b/${printableLine(path)}`),
    ...(isBinary ? [`Binary files differ (${status})`] : []),
    ...(isSubmodule ? ['A submodule points somewhere else'] : []),
    ...(hunks.length === 0
      ? []
      : [
          colors.bold(`--- ${status === 'added' ? '/dev/null' : `a/${printableLine(oldPath)}`}`),
          colors.bold(`+++ ${status === 'deleted' ? '/dev/null' : `b/${printableLine(path)}`}`),
        ]),
  ]
  return [
    ...head,
    ...hunks.flatMap(({ oldStart, oldLines, newStart, newLines, heading, lines }) => [
      colors.cyan(
        `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@${heading ? ` ${printableLine(heading)}` : ''}`,
      ),
      ...lines.map((text) => paintPatch(printable(text), colors)),
    ]),
  ]
}
