import { execFile } from 'node:child_process'
import { MatrixError } from '@matrix/protocol'

/** Which git is used here. Without one that will do no agent can work, which is better said at once than by every agent. */
export async function checkGit(): Promise<string> {
  const env = { PATH: process.env.PATH ?? '' }
  const version = await new Promise<string>((resolve) => {
    execFile('git', ['--version'], { env }, (error, stdout) => resolve(error ? '' : stdout.trim()))
  })
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(version) ?? []
  if (version === '') throw new MatrixError('GIT_MISSING', 'There is no git on the PATH.')
  if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38))
    throw new MatrixError('GIT_MISSING', `${version} is too old.`)
  return version
}
