import { expect, test } from 'vitest'
import { explainFailure, tailOf } from '../../bootstrap/failure.mjs'

const gyp = '.../node_modules/better-sqlite3 install: gyp'

test.each([
  [
    'no network when npm fetches pnpm',
    'npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/pnpm failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org',
    'The network is out of reach (EAI_AGAIN',
  ],
  [
    'no network when pnpm fetches a package',
    ' WARN  GET https://registry.npmjs.org/zod error (ENOTFOUND). Will retry in 1 second. 2 retries left.',
    'The network is out of reach (ENOTFOUND)',
  ],
  [
    'a registry that refuses the connection',
    'FetchError: connect ECONNREFUSED 127.0.0.1:4873',
    'The network is out of reach (ECONNREFUSED 127.0.0.1)',
  ],
  [
    'a registry that never answers',
    'ERR_PNPM_META_FETCH_FAIL  GET https://registry.npmjs.org/zod: ETIMEDOUT',
    'The network is out of reach (ETIMEDOUT)',
  ],
  [
    'a certificate of a proxy in between',
    'request to https://registry.npmjs.org/pnpm failed, reason: SELF_SIGNED_CERT_IN_CHAIN',
    'certificate is not trusted (SELF_SIGNED_CERT_IN_CHAIN)',
  ],
  ['no Python for node-gyp', `${gyp} ERR! find Python Python is not set from command line`, 'Python is missing'],
  ['no make for node-gyp', `${gyp} ERR! stack Error: not found: make`, 'make is missing'],
  ['no C compiler for make', `${gyp} info spawn make\nmake: cc: No such file or directory`, 'cc is missing'],
  ['no C++ compiler for a shell', '/bin/sh: 1: g++: not found', 'g++ is missing'],
  [
    'no Visual Studio for node-gyp',
    `${gyp} ERR! find VS could not use PowerShell to find Visual Studio`,
    'VS is missing',
  ],
  [
    'a full disk',
    "ENOSPC: no space left on device, copyfile '/store/a' -> '/clone/node_modules/a'",
    'The disk is full (ENOSPC)',
  ],
  [
    'a package.json the lockfile does not know',
    ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date',
    'pnpm-lock.yaml does not match the package.json files (ERR_PNPM_OUTDATED_LOCKFILE)',
  ],
])('%s is explained in one sentence', (_, output, sentence) => {
  const explanation = explainFailure(output)

  expect(explanation).toContain(sentence)
  expect(explanation).not.toContain('\n')
})

test('a module that could neither be downloaded nor compiled is a missing compiler, since that can be installed', () => {
  const output = `prebuild-install warn install getaddrinfo ENOTFOUND github.com\n${gyp} ERR! stack Error: not found: make`

  expect(explainFailure(output)).toContain('make is missing')
})

test('a Python that was found is not reported as missing', () => {
  const output = `${gyp} info find Python using Python version 3.11.7\n${gyp} ERR! fetch failed with ENOTFOUND`

  expect(explainFailure(output)).toContain('The network is out of reach')
})

test('a failure nobody foresaw is not explained, and only the end of its output is shown', () => {
  expect(explainFailure('ERR_PNPM_SOMETHING_NEW  Unheard of')).toBeUndefined()
  expect(tailOf('first\nsecond\nthird\n', 2)).toBe('second\nthird')
})
