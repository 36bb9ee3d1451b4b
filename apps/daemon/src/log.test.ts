import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLog } from './log.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-log-'))
  file = join(folder, 'daemon.log')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('the log is lines of JSON that only the owner can read, and goes on where it ended', () => {
  for (const name of ['first', 'second']) {
    const log = openLog({ file })
    log.logger.info({ name }, 'hello')
    log.close()
  }
  const lines = readFileSync(file, 'utf8').trim().split('\n')

  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { name: 'first', msg: 'hello' },
    { name: 'second', msg: 'hello' },
  ])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a log that is full makes room, and the one before it is kept', () => {
  const log = openLog({ file, maxBytes: 2000 })
  for (let n = 0; n < 200; n += 1) log.logger.info({ n }, 'something happened')
  log.close()

  expect(statSync(file).size).toBeLessThan(2200)
  expect(statSync(`${file}.1`).size).toBeLessThan(2200)
  expect(readFileSync(file, 'utf8')).toContain('"n":199')
})

test('a log that was deleted, or cannot make room, goes on and closes no file of others', () => {
  const log = openLog({ file, maxBytes: 100 })
  log.logger.info('x'.repeat(100))
  unlinkSync(file)
  log.logger.info('after it was deleted')
  const again = readFileSync(file, 'utf8')
  log.logger.info('x'.repeat(100))
  mkdirSync(`${file}.1`)
  log.logger.info('there is no room for the one before')
  const other = openSync(join(folder, 'other'), 'w')
  log.logger.info('and still none')
  log.logger.info('nor now')
  writeSync(other, 'whole')
  closeSync(other)
  log.close()

  expect(again).toContain('after it was deleted')
  expect(readFileSync(file, 'utf8')).toContain('nor now')
  expect(readFileSync(join(folder, 'other'), 'utf8')).toBe('whole')
})

test('a log that cannot be opened is a matter of the disk, and names its file', () => {
  mkdirSync(file)

  expect(() => openLog({ file })).toThrow(
    expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining(file) }),
  )
})

test('a secret that an error quotes does not reach the log', () => {
  const seen: string[] = []
  const log = openLog({ file, onLine: (line) => seen.push(line) })
  const secrets = ['sk-ant-api03-abcdefghijklmnop', 'ghp_abcdefghijklmnop1234', 'AKIAABCDEFGHIJKLMNOP']
  for (const secret of secrets) log.logger.error({ err: new Error(`refused: ${secret}`) }, `tried ${secret}`)
  log.logger.error({ header: 'Bearer abcdefghijklmnopqrstuvwxyz' }, 'x-api-key: abcdefghijklmnop')
  log.close()

  for (const text of [readFileSync(file, 'utf8'), seen.join('')]) {
    for (const secret of [...secrets, 'abcdefghijklmnop']) expect(text).not.toContain(secret)
    expect(text).toContain('[masked]')
  }
})
