import { execFile } from 'node:child_process'
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
    if (code === 'ENOENT')
      throw new MatrixError('GIT_FAILED', 'git was not found, or the folder does not exist.', {
        hint: 'Install git; matrix doctor says how.',
        cause,
      })
    throw new MatrixError('REPOSITORY_UNUSABLE', `${resolve(folder)} is not in a git repository.`, {
      hint: 'Run git init and make a first commit, then try again.',
      cause,
    })
  }
}
