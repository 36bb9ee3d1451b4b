import { expect, test } from 'vitest'
import { openSourceText } from './source-text.ts'

const source = openSourceText('{\n  "agent": "x",\n  "servers": [\n    { "alias": "fs",\n      "tools": [] }\n  ]\n}\n')

test('a value is found at its line and column', () => {
  expect(source.locate(['agent'])).toEqual({ line: 2, column: 12, endLine: 2, endColumn: 15 })
  expect(source.locate(['servers', 0, 'alias'])).toMatchObject({ line: 4, column: 16 })
})

test('a key is found where its name stands', () => {
  expect(source.locate(['servers', 0, 'alias'], 'key')).toEqual({ line: 4, column: 7, endLine: 4, endColumn: 14 })
})

test('a list or object is pointed at by its key, not underlined to its end', () => {
  expect(source.locate(['servers'])).toEqual({ line: 3, column: 3, endLine: 3, endColumn: 12 })
  expect(source.locate(['servers', 0])).toEqual({ line: 4, column: 5, endLine: 4, endColumn: 6 })
})

test('what is missing is pointed at by what should hold it', () => {
  expect(source.locate(['servers', 0, 'version'])).toMatchObject({ line: 4, column: 5 })
  expect(source.locate(['nothing', 'of', 'this'])).toMatchObject({ line: 1, column: 1 })
})
