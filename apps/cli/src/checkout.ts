import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { MatrixError } from '@matrix/protocol'

/** The root of the git repository that a folder is in. */
export async function findCheckout(folder: string): Promise<string> {
  const git = promisify(execFile)
  try {
    return (await git('git', ['rev-parse', '--show-toplevel'], { cwd: folder })).stdout.trimEnd()
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
    throw new MatrixError('REPOSITORY_UNUSABLE', `${resolve(folder)} is not in a git repository.`, {
      hint: 'Run git init and make a first commit, then try again.',
      cause,
    })
  }
}
