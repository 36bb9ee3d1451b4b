import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Where Matrix keeps what is the user's and not a repository's: packages, approvals, projects. */
export function dataFolder(): string {
  return resolve(process.env.MXD_DATA_DIR ?? join(homedir(), '.mxd'))
}
