import { expect, test } from 'vitest'
import { callLine, splitInput } from './call-input.ts'

test('a command or a script is a program, and the rest stands beside it', () => {
  expect(splitInput({ command: 'npm test', timeout: 20 })).toEqual({ program: 'npm test', rest: { timeout: 20 } })
  expect(splitInput({ script: 'exit 0' })).toEqual({ program: 'exit 0' })
})

test('nothing is left out, whatever the arguments look like', () => {
  for (const input of [null, 7, ['a'], { path: 'x' }, { command: 7 }, { command: 'a', script: 'b' }])
    expect(splitInput(input)).toEqual({ rest: input })
})

test('one line is enough to see what a call is about', () => {
  expect(callLine({ command: 'a\n  b' })).toBe('a b')
  expect(callLine({ path: 'x' })).toBe('{"path":"x"}')
})
