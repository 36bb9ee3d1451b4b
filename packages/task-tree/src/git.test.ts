import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gitRunner, runGit } from './git.ts'
import { appeared, ended } from './process-state.testing.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mxd-git-'))
  await runGit(['init', '--quiet', '--end-of-options', folder])
})
afterEach(() => rm(folder, { recursive: true }))

test('a failure carries what git said, as printable text', async () => {
  await expect(
    runGit(['rev-parse', '--verify', '\u001b[31mred'], { gitDir: join(folder, '.git') }),
  ).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringMatching(/^git rev-parse failed: fatal: \P{Cc}*$/u),
  })
})

test('exit codes that are answers are no failures', async () => {
  const args = ['rev-parse', '--verify', '--quiet', 'nothing']
  expect(await runGit(args, { gitDir: join(folder, '.git'), codes: [0, 1] })).toMatchObject({ code: 1 })
})

test('nothing that decides what git does comes in from the environment', async () => {
  process.env.GIT_DIR = '/nonexistent'
  process.env.GIT_EXTERNAL_DIFF = 'false'
  process.env.MATRIX_SECRET = 'canary'
  const program = join(folder, 'print-environment')
  await writeFile(program, '#!/bin/sh\nenv\n', { mode: 0o755 })
  const seen = (await gitRunner({ program })([])).text()
  delete process.env.GIT_DIR
  delete process.env.GIT_EXTERNAL_DIFF
  delete process.env.MATRIX_SECRET

  expect(seen).not.toMatch(/canary|GIT_EXTERNAL_DIFF|\/nonexistent/)
  expect(seen).toContain('GIT_CONFIG_GLOBAL=/dev/null')
})

test('a git that takes too long is ended with everything it started', async () => {
  const program = join(folder, 'slow')
  await writeFile(program, `#!/bin/sh\nsleep 300 &\necho $! > '${folder}/pid'\nwait\n`, { mode: 0o755 })

  const running = gitRunner({ program })(['status'], { timeoutMs: 500 })
  const pid = Number(await Promise.race([appeared(join(folder, 'pid')), running.catch(() => 0)]))
  await expect(running).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining('did not finish within 0.5 s'),
  })
  await ended(pid)
})

test('a git that cannot be started and a folder that is gone are told apart', async () => {
  const missing = gitRunner({ program: join(folder, 'no-git') })

  await expect(missing(['status'])).rejects.toMatchObject({ code: 'GIT_MISSING' })
  await expect(runGit(['status'], { workTree: join(folder, 'gone') })).rejects.toMatchObject({
    code: 'REPOSITORY_UNUSABLE',
    message: expect.stringContaining(join(folder, 'gone')),
  })
})

test('an abort ends git, before and while it runs', async () => {
  const program = join(folder, 'slow')
  await writeFile(program, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
  await expect(runGit(['version'], { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')

  const controller = new AbortController()
  const running = gitRunner({ program })(['status'], { signal: controller.signal })
  setTimeout(() => controller.abort(new Error('while')), 50)
  await expect(running).rejects.toThrow('while')
})

test('output without end is cut where that is wanted and an error where it is not', async () => {
  const program = join(folder, 'endless')
  await writeFile(program, '#!/bin/sh\nexec yes\n', { mode: 0o755 })
  const { stdout, truncated } = await gitRunner({ program })(['log'], { maxBytes: 1000, mayCut: true })

  expect(truncated).toBe(true)
  expect(stdout).toHaveLength(1000)
  await expect(gitRunner({ program })(['log'], { maxBytes: 1000 })).rejects.toMatchObject({ code: 'GIT_FAILED' })
})

test('a lock that a killed git left is named with what to do', async () => {
  await writeFile(join(folder, '.git/HEAD.lock'), '')

  await expect(
    runGit(['symbolic-ref', 'HEAD', 'refs/heads/x'], { gitDir: join(folder, '.git') }),
  ).rejects.toMatchObject({
    hint: expect.stringContaining(join(folder, '.git/HEAD.lock')),
  })
})
