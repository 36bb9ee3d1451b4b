import { expect, test } from 'vitest'
import { readShellCommand } from './shell-text.ts'

test('a text that almost is a row of words takes no longer than it is long', () => {
  const started = performance.now()
  for (const part of ['$aa', '${aa}', 'a', "'a'"]) expect(read(`"${part.repeat(30)}\``)).toBeUndefined()

  expect(performance.now() - started).toBeLessThan(1000)
})

test('a name ends where its letters end', () => {
  expect(read('npx -y "$SCOPE/name" $ONE$TWO')).toMatchObject({
    words: ['npx', '-y', '${SCOPE}/name', '${ONE}${TWO}'],
  })
})

function read(text: string) {
  return readShellCommand('bash', [
    { text: '-c', path: ['args', 0] },
    { text, path: ['args', 1] },
  ])
}
