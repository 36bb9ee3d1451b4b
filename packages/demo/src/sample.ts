import { chmod, cp, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runGit } from '@matrix/task-tree'

/** The sample repository as it comes with the package: beside the code, in source as in what is published. */
const sample = join(dirname(fileURLToPath(import.meta.url)), '..', 'sample')

/** Makes the sample repository in a folder of its own, or gives back the one that is there. */
export async function createSample(folder: string): Promise<string> {
  const target = join(folder, 'tally')
  if (await stat(join(target, '.git')).catch(() => undefined)) return target
  // Under another name until it is whole, so that a crash in between leaves nothing that looks ready.
  const growing = join(folder, 'tally.new')
  await rm(growing, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await cp(sample, growing, { recursive: true })
  // npm leaves a file of that name out of packages.
  await rename(join(growing, 'gitignore'), join(growing, '.gitignore'))
  await chmod(join(growing, '.mxd/hooks/setup_worktree.sh'), 0o755)
  await commitAll(growing)
  await rename(growing, target)
  return target
}

async function commitAll(folder: string): Promise<void> {
  const git = (...args: string[]) => runGit(['-C', folder, ...args])
  await git('init', '--quiet', '--initial-branch=main')
  // The user of a fresh machine may not have told git who they are.
  await git('config', 'user.name', 'Matrix demo')
  await git('config', 'user.email', 'demo@localhost')
  await git('add', '--all')
  await git('commit', '--quiet', '--message=tally, as it was')
}
