import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findIdentity } from './identity.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'

const home = process.env.HOME
let scratch: ScratchRepository
beforeEach(async () => {
  scratch = await scratchRepository()
  process.env.HOME = scratch.home
})
afterEach(async () => {
  process.env.HOME = home
  await scratch.remove()
})

test('commits are made in the name that git has for this checkout', async () => {
  const global = await findIdentity(scratch.checkout)
  scratch.git('config', 'user.name', 'Ada of this repository')

  expect(global).toBe('Ada <ada@example.com>')
  expect(await findIdentity(scratch.checkout)).toBe('Ada of this repository <ada@example.com>')
})

test('a name is never guessed from the machine, and the error says how to set one', async () => {
  process.env.HOME = join(scratch.home, 'empty')

  await expect(findIdentity(scratch.checkout)).rejects.toMatchObject({
    code: 'GIT_IDENTITY_MISSING',
    hint: expect.stringMatching(/git config --global user\.name .*git config --global user\.email/),
  })
})
