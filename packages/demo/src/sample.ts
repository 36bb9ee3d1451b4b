import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MatrixError } from '@matrix/protocol'
import { runGit } from '@matrix/task-tree'

const setupScript = '.mxd/hooks/setup_worktree.sh'

/** The sample as it comes with the package: the nearest `sample` above this file, in source, as published and in a bundle. */
function findSample(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const sample = join(folder, 'sample')
    if (existsSync(join(sample, setupScript))) return sample
    if (folder === dirname(folder)) break
  }
  throw new MatrixError('DOCUMENT_UNREADABLE', 'The sample repository that comes with Matrix is missing.', {
    hint: 'Install Matrix again.',
  })
}

/** Makes the sample repository in a folder of its own, or gives back the one that is there. */
export async function createSample(folder: string): Promise<string> {
  const target = join(folder, 'tally')
  if (await stat(join(target, '.git')).catch(() => undefined)) return target
  // Under another name until it is whole, so that a crash in between leaves nothing that looks ready.
  const growing = join(folder, 'tally.new')
  await rm(growing, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await cp(findSample(), growing, { recursive: true })
  // npm leaves a file of that name out of packages.
  await rename(join(growing, 'gitignore'), join(growing, '.gitignore'))
  await chmod(join(growing, setupScript), 0o755)
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
