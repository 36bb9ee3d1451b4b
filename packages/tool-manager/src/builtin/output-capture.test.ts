import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { captureOutput } from './output-capture.ts'

let folder: string
let spillFile: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-capture-'))
  spillFile = join(folder, 'spill')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('short output is kept whole and no file is made', () => {
  const capture = captureOutput({ spillFile: () => spillFile, keepBytes: 30 })
  capture.write(Buffer.from('short '))
  capture.write(Buffer.from('output'))

  expect(capture.text()).toBe('short output')
  expect(existsSync(spillFile)).toBe(false)
})

test('of long output the beginning and the end are shown, and the file has all of it', () => {
  const capture = captureOutput({ spillFile: () => spillFile, keepBytes: 30 })
  const all = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join('')
  for (let at = 0; at < all.length; at += 7) capture.write(Buffer.from(all.slice(at, at + 7)))
  capture.close()

  const note = `[… ${all.length - 30} bytes left out; all ${all.length} bytes are in ${spillFile} …]`
  expect(capture.text()).toBe(`line 0\nlin\n${note}\n 97\nline 98\nline 99\n`)
  expect(readFileSync(spillFile, 'utf8')).toBe(all)
})

test('a character that the cut falls into is left out rather than garbled', () => {
  const capture = captureOutput({ spillFile: () => spillFile, keepBytes: 30 })
  capture.write(Buffer.from('ä'.repeat(11) + '€'.repeat(30)))

  expect(capture.text()).not.toContain('\uFFFD')
})

test('the file is not written without end, and says so', () => {
  const capture = captureOutput({ spillFile: () => spillFile, keepBytes: 30, maxSpillBytes: 1000 })
  for (let index = 0; index < 100; index += 1) capture.write(Buffer.alloc(100, 'x'))
  capture.close()

  expect(readFileSync(spillFile).length).toBe(1000)
  expect(capture.text()).toContain(`the first 1000 of 10000 bytes are in ${spillFile}`)
  expect(capture.bytes()).toBe(10_000)
})
