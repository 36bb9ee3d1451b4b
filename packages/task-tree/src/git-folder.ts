import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Disk } from './disk.ts'
import { decodeText, isMissing, readFile, replaceFile } from './durable-file.ts'
import {
  type GitFolder,
  type GitFolderRecord,
  gitFolderOf,
  readGitRecord,
  writeGitRecord,
} from './git-folder-record.ts'
import { readIdentity } from './identity.ts'
import { listObjectFolders } from './object-folders.ts'
import type { Repository } from './repository.ts'
import { askSandbox, type SandboxGit, sandboxFailed } from './sandbox-git.ts'

export type NewGitFolder = {
  taskId: string
  branch: string
  tip: string
  index: string
  visible: Refs
  excludes: string
}

/** Full names of refs with the objects they point to. */
export type Refs = Record<string, string>

type Work = { disk: Disk; repository: Repository; sandbox: SandboxGit; newId: () => string }

/**
 * Makes the git directory that a task's agent works with: an index, refs and configuration of its own, and the objects of the
 * user's repository borrowed. Nothing else of the repository is in it: no hooks, no stash, no remotes, no credentials.
 */
export async function makeGitFolder(work: Work, made: NewGitFolder): Promise<GitFolder> {
  const { disk, repository, sandbox } = work
  const place = gitFolderOf(sandbox.directory, made.taskId)
  const objects = await listObjectFolders(disk, join(repository.gitDir, 'objects'))
  await disk.makeDirectory(sandbox.directory)
  if ((await disk.kind(place.folder)) !== 'directory') await furnish(work, place, made, objects)
  await replaceFile(disk, place.link, `gitdir: ${place.folder}\n`)
  await sandbox.give(place.folder)
  await sandbox.give(place.link)
  const { branch, tip, visible, excludes } = made
  const record: GitFolderRecord = { branch, tip, merging: '', visible, hooks: '', excludes, objects }
  await writeGitRecord(disk, place, record)
  return place
}

/** The git directory that a task has already. One whose repository was moved borrows from where that is now. */
export async function findGitFolder(
  { disk, repository, sandbox }: Work,
  taskId: string,
): Promise<GitFolder | undefined> {
  const place = gitFolderOf(sandbox.directory, taskId)
  const record = (await disk.kind(place.folder)) === 'directory' ? await readGitRecord(disk, place) : undefined
  if (!record) return undefined
  const objects = await listObjectFolders(disk, join(repository.gitDir, 'objects'))
  if (objects.join() === record.objects.join()) return place
  // From inside: where the agent can write, a path may lead anywhere.
  const script = `printf '%s\\n' "$@" > objects/info/alternates`
  const answer = await askSandbox(sandbox, { gitDir: place.folder, readable: objects, script, args: objects })
  if (answer.code !== 0) throw sandboxFailed('follow the repository', answer)
  await writeGitRecord(disk, place, { ...record, objects })
  return place
}

/** Written where no agent has been, then put in its place. */
async function furnish(work: Work, place: GitFolder, made: NewGitFolder, objects: string[]): Promise<void> {
  const { disk, repository, sandbox } = work
  const { branch, tip, visible, index, excludes } = made
  const making = `${place.folder}.making`
  await disk.removeTree(making)
  for (const folder of ['objects/info', 'objects/pack', 'refs/tags', 'info', 'hooks', dirname(`refs/heads/${branch}`)])
    await disk.makeDirectory(join(making, folder), 0o755)
  const files: Record<string, string> = {
    HEAD: `ref: refs/heads/${branch}\n`,
    config: await formatConfig(repository, sandbox.isOtherUser),
    'packed-refs': formatPackedRefs(visible),
    'objects/info/alternates': objects.map((path) => `${path}\n`).join(''),
    'info/exclude': excludes,
    [`refs/heads/${branch}`]: `${tip}\n`,
  }
  const shallow = await readFile(disk, join(repository.gitDir, 'shallow'))
  if (shallow) files.shallow = decodeText(shallow)
  for (const [name, content] of Object.entries(files)) await replaceFile(disk, join(making, name), content)
  // It says which files are unchanged: without it, git would read them all.
  await copyFile(index, join(making, 'index')).catch((error) => {
    if (!isMissing(error)) throw error
  })
  await disk.rename(making, place.folder)
  await disk.syncDirectory(sandbox.directory)
}

async function formatConfig(repository: Repository, isOtherUser: boolean): Promise<string> {
  const isPlain = repository.objectFormat === 'sha1'
  const identity = await readIdentity(repository).catch(() => undefined)
  const core = [
    `repositoryFormatVersion = ${isPlain ? 0 : 1}`,
    'bare = false',
    'logAllRefUpdates = true',
    ...repository.settings.map((setting) => setting.replace(/^core\./, '').replace('=', ' = ')),
    // Files that were given to another user would look changed, and each would be read again.
    ...(isOtherUser ? ['trustCtime = false', 'checkStat = minimal'] : []),
  ]
  const sections: [string, string[]][] = [
    ['core', core],
    ['extensions', isPlain ? [] : [`objectFormat = ${repository.objectFormat}`]],
    ['gc', ['auto = 0']],
    [
      'user',
      identity ? [`name = ${quote(identity.GIT_AUTHOR_NAME)}`, `email = ${quote(identity.GIT_AUTHOR_EMAIL)}`] : [],
    ],
  ]
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([name, lines]) => `[${name}]\n${lines.map((line) => `\t${line}\n`).join('')}`)
    .join('')
}

function quote(value = ''): string {
  return `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', ' ')}"`
}

function formatPackedRefs(refs: Refs): string {
  return Object.entries(refs)
    .map(([ref, id]) => `${id} ${ref}\n`)
    .join('')
}
