import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { MatrixError, printableLine } from '@matrix/protocol'

/** The root of the git repository that a folder is in. */
export async function findCheckout(folder: string): Promise<string> {
  const git = promisify(execFile)
  try {
    return (await git('git', ['rev-parse', '--show-toplevel'], { cwd: folder })).stdout.replace(/\n$/, '')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // To the system, a program that is missing and a folder that is missing are the same.
    if (code === 'ENOENT' && existsSync(folder))
      throw new MatrixError('GIT_MISSING', 'There is no git on the PATH.', {
        hint: 'Install git 2.38 or newer; matrix doctor says how.',
        cause,
      })
    if (code === 'ENOENT')
      throw new MatrixError('REPOSITORY_UNUSABLE', `There is no folder ${resolve(folder)}.`, { cause })
    throw refusal(resolve(folder), cause)
  }
}

function refusal(folder: string, cause: unknown): MatrixError {
  const said = printableLine(String((cause as { stderr?: string }).stderr ?? '').trim())
  if (said.includes('must be run in a work tree'))
    return new MatrixError('REPOSITORY_UNUSABLE', `${folder} is a git directory without a checkout.`, {
      hint: 'Run it in a checkout; git worktree add makes one.',
      cause,
    })
  // A repository that git cannot read must not be answered with git init, which would write into it.
  if (!said.includes('not a git repository') || holdsGit(folder))
    return new MatrixError('REPOSITORY_UNUSABLE', `git cannot use the repository of ${folder}: ${said}`, {
      hint: 'Run git status there, repair what it names, then try again.',
      cause,
    })
  return new MatrixError('REPOSITORY_UNUSABLE', `${folder} is not in a git repository.`, {
    hint: 'Run git init and make a first commit, then try again.',
    cause,
  })
}

function holdsGit(folder: string): boolean {
  return existsSync(join(folder, '.git')) || (dirname(folder) !== folder && holdsGit(dirname(folder)))
}
