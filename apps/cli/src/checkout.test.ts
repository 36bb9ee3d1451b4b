import { execFileSync } from 'node:child_process'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findCheckout } from './checkout.ts'

test('a folder without a repository, a folder that is not there and a machine without git are told apart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'matrix-checkout-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const gone = join(folder, 'gone')

  await expect(findCheckout(folder)).rejects.toMatchObject({ message: `${folder} is not in a git repository.` })
  await expect(findCheckout(gone)).rejects.toMatchObject({ message: `There is no folder ${gone}.` })
  vi.stubEnv('PATH', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(findCheckout(folder)).rejects.toMatchObject({ code: 'GIT_MISSING' })
})

test('a repository that git cannot read, a bare one and a line break in the path are no reason for git init', async () => {
  const top = await realpath(await mkdtemp(join(tmpdir(), 'matrix-checkout-')))
  onTestFinished(() => rm(top, { recursive: true }))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: top, stdio: 'pipe' })
  const [broken, newer, bare, odd] = [join(top, 'broken'), join(top, 'newer'), join(top, 'bare'), join(top, 'a\nb\n')]
  for (const folder of [broken, newer, odd]) git('init', '--quiet', folder)
  git('init', '--quiet', '--bare', bare)
  await writeFile(join(broken, '.git/HEAD'), 'rubbish')
  await writeFile(join(newer, '.git/config'), '[core]\nrepositoryformatversion = 1\n[extensions]\nfoo = true\n')

  for (const [folder, says] of [
    [broken, 'git cannot use the repository'],
    [newer, 'unknown repository extension'],
    [bare, 'without a checkout'],
  ] as const)
    await expect(findCheckout(folder)).rejects.toMatchObject({
      message: expect.stringContaining(says),
      hint: expect.not.stringContaining('git init'),
    })
  expect(await findCheckout(odd)).toBe(odd)
})
