import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../scripted-server.testing.ts'
import { isShellAllowed, isShellDenied } from './command-rule.ts'
import { parseShellText } from './shell-text.ts'

const patterns = [
  'git (status|diff|log)( .*)?',
  'echo .*',
  'find .*',
  'xargs .*',
  'sh -c .*',
  'env .*',
  'alias .*',
  'test .*',
]

test.each([
  'git log',
  'git log --oneline -5 && git status',
  'git log | git diff; git status',
  'git log 2>&1 >/dev/null',
  "git log --format='%h; rm x'",
  'git log "$(git status)"',
  'timeout 5 git log',
  'nice -n 5 git log',
  'sh -c "git log; git status"',
  'find . -name a -exec git log {} \\;',
  'for f in a b; do git log "$f"; done',
  'git log # ; rm x',
  'git log <<E\ntext\nE',
  'eval "git log"',
])('%s is allowed, because each of its commands is', async (text) => {
  expect(isShellAllowed(patterns, await parseShellText(text))).toBe(true)
})

test.each([
  'git log ; cat secret.txt',
  'git log\ncat secret.txt',
  'git log & cat x',
  'git log $(cat x)',
  'git log `cat x`',
  'git log "$(cat x)"',
  'git log <(cat x)',
  'git log <<E\n$(cat x)\nE',
  'git log ${a:-$(cat x)}',
  'git log > out',
  'git log < secret',
  'git log 3<>/dev/tcp/a/1',
  'PATH=/evil git log',
  'GIT_SSH_COMMAND=x git log',
  'PATH=/evil; git log',
  'for PATH in /evil; do git log; done',
  '${PATH:=/evil}',
  'git(){ cat x; }; git log',
  'eval "cat x"',
  'eval "$a"',
  'sh -c "cat x"',
  'sh -c "$a"',
  'echo "cat x" | sh',
  'env A=1 git log',
  'env -S "cat x"',
  'env cat x',
  'echo a | xargs cat',
  'echo a | xargs -I{} sh -c {}',
  'find . -exec cat {} +',
  'find . $a',
  'timeout 5 cat x',
  './timeout 5 git log',
  'sudo git log',
  'command cat x',
  '$(echo git) log',
  '/tmp/gi? log',
  '{git,log}',
  '"git log"',
  'git log $((a[$(cat x)]))',
  "for x in 'a[$(cat y)]'; do ((x)); done",
  "for x in '$(cat y)'; do git log ${x@P}; done",
  "for x in 'a[$(cat y)]'; do [[ $x -eq 0 ]]; done",
  "test -v 'a[$(cat x)]'",
  'coproc cat x',
  'git log $(',
  'git log \0 x',
  'if git log; then cat x; fi',
  'case a in a) cat x;; esac',
  '',
])('%j is not allowed by patterns for other commands', async (text) => {
  expect(isShellAllowed(patterns, await parseShellText(text))).toBe(false)
})

test.each([
  'rm -rf x',
  '/bin/rm -rf x',
  "r'm' -rf x",
  'A=1 rm x',
  'true; rm x',
  'sh -c "rm x"',
  'timeout 5 rm x',
  'echo a | xargs rm x',
  'find . -exec rm {} +',
  'echo $(rm x)',
])('%s is denied by a pattern for rm', async (text) => {
  expect(isShellDenied(['rm .*'], await parseShellText(text))).toBe(true)
})

test.each<[string, false | undefined]>([
  ['ls $HOME', false],
  ['npm test > out 2>&1', false],
  ['$a x', undefined],
  ['r$a x', undefined],
  ['eval "$a"', undefined],
  ['sudo rm x', undefined],
])('whether %s is denied by a pattern for rm: %s', async (text, isDenied) => {
  expect(isShellDenied(['rm .*'], await parseShellText(text))).toBe(isDenied)
})

const operators = ['; ', ' && ', ' || ', ' | ', ' & ', '\n', ' |& ']
const shapes: ((inner: string) => string)[] = [
  (inner) => inner,
  (inner) => `( ${inner} )`,
  (inner) => `{ ${inner}\n}`,
  (inner) => `good "$(${inner})"`,
  (inner) => `good <(${inner})`,
  (inner) => `if ${inner}\nthen good; fi`,
  (inner) => `good <<E\n$(${inner})\nE\n`,
  (inner) => `! ( ${inner} )`,
]
const texts = fc
  .tuple(
    fc.array(fc.constantFrom('good', 'good x', 'fine "a;b"', 'bad', 'bad x'), { minLength: 1, maxLength: 4 }),
    fc.array(fc.constantFrom(...operators), { minLength: 4, maxLength: 4 }),
    fc.constantFrom(...shapes),
  )
  .map(([words, joins, shape]) => ({
    words,
    text: shape(words.map((word, at) => (at === 0 ? word : `${joins[at - 1]}${word}`)).join('')),
  }))

test('a text is allowed exactly when each simple command in it is', async () => {
  await fc.assert(
    fc.asyncProperty(texts, async ({ words, text }) => {
      const isEachAllowed = words.every((word) => !word.startsWith('bad'))

      expect(isShellAllowed(['(good|fine)( .*)?'], await parseShellText(text))).toBe(isEachAllowed)
    }),
    { numRuns: 500 },
  )
})

test('whatever bash really runs of an allowed text is allowed', { timeout: 120_000 }, async () => {
  const folder = temporaryFolder()
  const log = join(folder, 'log')
  for (const name of ['good', 'fine', 'bad']) {
    writeFileSync(join(folder, name), `#!/bin/sh\necho ${name} >> ${log}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const noise = fc.constantFrom(
    ' ',
    '"',
    "'",
    '\\',
    '$(',
    ')',
    '`',
    ';',
    '\n',
    '&',
    '|',
    '<<E\n',
    '\nE\n',
    '#',
    '{ ',
    '; }',
  )
  const wild = fc.array(fc.oneof(noise, fc.constantFrom('good', 'fine x', 'bad', 'bad x')), { maxLength: 9 })
  await fc.assert(
    fc.asyncProperty(wild, async (parts) => {
      const text = parts.join('')
      fc.pre(isShellAllowed(['(good|fine)( .*)?'], await parseShellText(text)))
      rmSync(log, { force: true })
      try {
        execFileSync('/bin/bash', ['--norc', '-c', text], {
          cwd: folder,
          env: { PATH: `${folder}:/usr/bin:/bin` },
          stdio: 'ignore',
          timeout: 5000,
        })
      } catch {}

      expect(existsSync(log) ? readFileSync(log, 'utf8') : '').not.toContain('bad')
    }),
    { numRuns: 60, maxSkipsPerRun: 2000 },
  )
})
