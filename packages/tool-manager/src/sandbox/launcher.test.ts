import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launcherPrefix } from './launcher.ts'

test.runIf(process.platform === 'linux')('what starts a sandbox runs no file of the user’s home', async () => {
  const home = mkdtempSync(join(tmpdir(), 'matrix-launcher-'))
  for (const name of ['.bashrc', '.bash_profile', '.profile']) writeFileSync(join(home, name), 'echo the file ran\n')
  const [command = '', ...args] = [...launcherPrefix({ lastDescriptor: 2 }), '/bin/echo', 'started']
  // The input is a socket, as that of a sandbox is.
  const child = spawn(command, args, { env: { HOME: home, BASH_ENV: join(home, '.bashrc') }, stdio: 'pipe' })

  expect(String(Buffer.concat(await child.stdout.toArray()))).toBe('started\n')
  rmSync(home, { recursive: true })
})
