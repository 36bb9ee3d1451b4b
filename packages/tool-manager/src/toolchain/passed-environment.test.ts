import { expect, test } from 'vitest'
import { passEnvironment, whyReserved } from './passed-environment.ts'

test('what changes a result is passed: locale, time zone, certificates, CI, flags of compilers', () => {
  const env = { LANG: 'de_DE.UTF-8', LC_ALL: 'C', TZ: 'Asia/Tokyo', CI: 'true', CFLAGS: '-O0', EDITOR: 'vi' }

  expect(passEnvironment(env).env).toEqual({
    LANG: 'de_DE.UTF-8',
    LC_ALL: 'C',
    TZ: 'Asia/Tokyo',
    CI: 'true',
    CFLAGS: '-O0',
  })
})

test('the certificates that a variable names are there to be read', () => {
  const env = { SSL_CERT_FILE: '/etc/hostname', NODE_EXTRA_CA_CERTS: '/nowhere.pem', SSL_CERT_DIR: 'relative' }

  expect(passEnvironment(env).files).toEqual(['/etc/hostname'])
})

test('a variable that the user adds is passed, and a credential never, by name or by value', () => {
  const env = {
    DATABASE_HOST: 'db',
    GITHUB_TOKEN: 'x',
    PATH: '/bin',
    HTTPS_PROXY: 'http://proxy',
    COREPACK_NPM_REGISTRY: 'https://me:hunter22@pypi.example/simple',
  }
  const { env: passed, withheld } = passEnvironment(env, Object.keys(env))

  expect(passed).toEqual({ DATABASE_HOST: 'db' })
  expect(Object.fromEntries(withheld.map(({ name, reason }) => [name, reason]))).toEqual({
    GITHUB_TOKEN: expect.stringContaining('credential'),
    COREPACK_NPM_REGISTRY: 'holds a credential',
    PATH: 'is set by Matrix itself',
    HTTPS_PROXY: 'is set by Matrix itself',
  })
})

test('a name says by itself whether it may be added', () => {
  expect(
    ['API_KEY', 'AWS_SECRET_ACCESS_KEY', 'HOME', 'no_proxy', 'MXD_DATA_DIR'].filter((name) => !whyReserved(name)),
  ).toEqual([])
  expect(['DATABASE_HOST', 'MY_FLAG', 'KEYBOARD'].filter(whyReserved)).toEqual([])
})
