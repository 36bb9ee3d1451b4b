import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CheckoutFiles, findCheckoutFiles } from './checkout-file.ts'

test('a script names the files of the checkout that it copies, however it quotes them', () => {
  const script = [
    '#!/bin/sh',
    'cp "$MXD_REPOSITORY/.env" .env',
    `cp "\${MXD_REPOSITORY}"/config/local.json config/`,
    'ln -s $MXD_REPOSITORY/.env .env2; cat <$MXD_REPOSITORY/a.txt',
    '# cp $MXD_REPOSITORY/commented .',
  ].join('\n')

  expect(findCheckoutFiles(script)).toEqual(['.env', 'config/local.json', 'a.txt'])
})

test('what leads out of the checkout, or into its git directory, is not named', () => {
  const paths = ['../.ssh/id_rsa', 'a/../../b', '.git/config', 'sub/.GIT/config', './x', '/etc/passwd', 'a//b', '']

  expect(findCheckoutFiles(paths.map((path) => `cp "$MXD_REPOSITORY/${path}" .`).join('\n'))).toEqual(['etc/passwd'])
  for (const path of paths) expect(CheckoutFiles.safeParse([path]).success).toBe(false)
})

test('whatever a script holds, what is found in it is accepted as the files of a decision', () => {
  const part = fc.oneof(fc.string(), fc.constantFrom('$MXD_REPOSITORY/', '"', '../', '.git', '\n', '/', '.env'))
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      expect(CheckoutFiles.safeParse(findCheckoutFiles(parts.join(''))).success).toBe(true)
    }),
  )
})
