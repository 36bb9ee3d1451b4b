import { resolve } from 'node:path'
import { serveTools as serve } from '@matrix/tool-manager'
import packageJson from '../../package.json' with { type: 'json' }
import { type ExitCode, exitCode } from '../exit-code.ts'

/** Matrix's own tools for any MCP client, until the client closes the pipe. */
export async function serveTools({ root = '.' }: { root?: string }): Promise<ExitCode> {
  await serve({ root: resolve(root), version: packageJson.version })
  return exitCode.ok
}
