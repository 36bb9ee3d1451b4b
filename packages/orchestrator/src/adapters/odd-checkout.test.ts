import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMockProvider } from '@matrix/mock-provider'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openNodeOrchestrator } from './node-orchestrator.ts'

vi.setConfig({ testTimeout: 60_000 })

test("a worktree of the user's own starts work from the branch that is checked out there", async () => {
  const { top, git, register } = await openStage()
  git('shop', 'worktree', 'add', '--quiet', '-b', 'side', join(top, 'own'))

  expect((await register('own')).baseBranch).toBe('side')
})

test('a repository with line breaks in its path is a project like any other', async () => {
  const { top, git, register } = await openStage()
  const odd = 'a\nb\n'
  git('shop', 'clone', '--quiet', '.', join(top, odd))

  expect(await register(odd)).toMatchObject({ baseBranch: 'trunk', path: join(top, odd) })
})

async function openStage() {
  const top = await realpath(await mkdtemp(join(tmpdir(), 'matrix-checkout-')))
  await chmod(top, 0o755)
  const dataDirectory = join(top, 'data')
  for (const folder of ['shop', 'data']) await mkdir(join(top, folder))
  const git = (folder: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: join(top, folder),
      stdio: 'pipe',
    })
  await writeFile(join(top, 'shop/readme.md'), 'hello\n')
  git('shop', 'init', '--quiet', '-b', 'trunk')
  git('shop', 'add', '--all')
  git('shop', 'commit', '--quiet', '-m', 'first')
  const mock = await openMockProvider({ turns: [] })
  const orchestrator = await openNodeOrchestrator({ dataDirectory, mock: { baseUrl: mock.url, isDemo: () => false } })
  await orchestrator.resume()
  onTestFinished(async () => {
    await orchestrator.close()
    await mock.close()
    await rm(top, { recursive: true, force: true })
  })
  const register = async (folder: string) => {
    const body = { path: join(top, folder), setup: { choice: 'none' } as const }
    return orchestrator.registerProject({ params: {}, query: {}, body })
  }
  return { top, git, register }
}
