import type { Command } from 'commander'
import { defaultCommand } from '../command-options.ts'
import type { ExitCode } from '../exit-code.ts'

/** `matrix snapshots`: work that was saved before a worktree went, or on demand. */
export function addSnapshots(program: Command, done: (code: ExitCode) => void): void {
  const snapshots = program
    .command('snapshots')
    .summary('work that was saved from worktrees: list it, look at it, get it back')
    .description(
      'Before a worktree is removed, everything in it that is not ignored and not on its branch is saved in the repository itself. No branch shows it and no tidying up takes it away.',
    )

  withPlace(defaultCommand(snapshots, 'list').summary('every snapshot, oldest first'))
    .option('--task <id>', 'only those of this task, by any beginning of its id')
    .action(async (options) => done(await (await load()).listSnapshots(options)))

  withPlace(snapshots.command('show').summary('what a snapshot is, and the files it holds'))
    .argument('<name>', 'its name, or the first 8 or more characters of it')
    .action(async (name, options) => done(await (await load()).showSnapshot(name, options)))

  withPlace(snapshots.command('restore').summary('write the files of a snapshot into a new folder'))
    .argument('<name>', 'its name, or the first 8 or more characters of it')
    .argument('<folder>', 'a folder that does not exist yet')
    .action(async (name, folder, options) => done(await (await load()).restoreSnapshot(name, folder, options)))
}

const load = () => import('./snapshots.ts')

function withPlace(command: Command): Command {
  return command
    .option('-C, --repository <dir>', 'the repository, or any folder in it; this one when left out')
    .option('--json', 'print one JSON document')
}
