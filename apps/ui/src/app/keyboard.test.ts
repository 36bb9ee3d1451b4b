import { expect, test } from 'vitest'
import { keyName } from './keyboard.ts'

const plain = { ctrlKey: false, metaKey: false, altKey: false }

test('Ctrl and Cmd are the same key', () => {
  expect(keyName({ ...plain, key: 'K', ctrlKey: true })).toBe('mod+k')
  expect(keyName({ ...plain, key: 'k', metaKey: true })).toBe('mod+k')
})

test('a key that is only held is no key yet', () => {
  expect(keyName({ ...plain, key: 'Shift' })).toBeUndefined()
})

test('what the keyboard itself makes of Alt is left alone', () => {
  expect(keyName({ ...plain, key: 'ø', altKey: true })).toBeUndefined()
})
