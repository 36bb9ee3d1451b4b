import { mkdtemp, rm } from 'node:fs/promises'
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
