import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { listFiles } from './branch-changes.ts'
import { replaceFile } from './durable-file.ts'
import { signalGroup } from './process-group.ts'
import { excludeFile, listOthers, writeFiles } from './snapshot.ts'
import type { WorktreeWork } from './worktree-creation.ts'

/** Where a setup runs, and what it can be told. */
export type SetupPlace = {
  taskId: string
  worktree: string
  /** The user's checkout; the git directory where there is none. */
  repository: string
  branch: string
  baseBranch: string
  /** What runs outside of a sandbox notes its process group here, so that it can be ended after a crash. */
  processFile: string
}

/** What a setup did to files that git sees: changed ones were restored, new ones are kept out of commits. */
export type SetupEffect = { restored: string[]; excluded: string[] }

/** Brings a worktree in which only its setup ran back to its commit, and keeps new files out of commits. */
export async function settleSetup(work: WorktreeWork, place: SetupPlace, admin: string): Promise<SetupEffect> {
  const { disk, repository, places } = work
  const { worktree } = place
  if ((await disk.kind(join(worktree, '.git'))) !== 'file')
    throw new MatrixError('SETUP_FAILED', `The setup script deleted the worktree ${worktree}`)

  const source = { workTree: worktree, admin, indexFile: join(admin, 'index') }
  const excluded = await listOthers(repository, source, { byFolder: true })
  if (excluded.length > 0) await replaceFile(disk, excludeFile(admin), Buffer.concat(excluded.flatMap(patternOf)))

  const indexFile = join(places.own, `index-${work.newId()}`)
  try {
    const { head, tree } = await writeFiles(disk, repository, { workTree: worktree, admin, indexFile })
    const changes = head.commit ? await listFiles(repository, head.commit, tree) : []
    if (changes.length > 0) await restore(work, source, changes)
    const names = excluded.map((path) => path.toString('utf8'))
    return { restored: changes.map(({ path }) => path).toSorted(), excluded: names.toSorted() }
  } finally {
    await disk.remove(indexFile).catch(() => {})
  }
}

type Changes = Awaited<ReturnType<typeof listFiles>>
type Source = { workTree: string; indexFile: string }

async function restore({ repository }: WorktreeWork, { workTree, indexFile }: Source, changes: Changes): Promise<void> {
  const place = { workTree, env: { GIT_INDEX_FILE: indexFile }, maxBytes: 1024 ** 3 }
  const tracked = (await repository.files(['ls-files', '-z'], place)).text().split('\0').length - 1
  if (changes.filter(({ status }) => status === 'deleted').length === tracked)
    throw new MatrixError('SETUP_FAILED', 'The setup script deleted every file of the worktree')
  const input = changes.map(({ path, oldPath }) => `${oldPath ?? path}\0`).join('')
  await repository.files(['checkout-index', '--force', '-z', '--stdin'], { ...place, input })
}

/** A line of an exclude file that names exactly this path. A name with a line break cannot be written in one. */
function patternOf(path: Buffer): Buffer[] {
  const text = path.toString('latin1')
  if (/[\r\n]/.test(text)) return []
  return [Buffer.from(`/${text.replace(/[\\*?[\] #!]/g, '\\$&')}\n`, 'latin1')]
}

/** Ends a setup that outlived the process that started it. Only one that carries this worktree in its environment. */
export async function endLeftoverSetup(processFile: string, worktree: string): Promise<void> {
  const pid = Number(await readFile(processFile, 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 1) return
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
  if (environment.split('\0').includes(`MXD_WORKTREE=${worktree}`)) signalGroup(pid, 'SIGKILL')
}
