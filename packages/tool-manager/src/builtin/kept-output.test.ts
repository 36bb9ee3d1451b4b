import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../scripted-server.testing.ts'
import { makeRoom, openKeptOutput } from './kept-output.ts'

test('the oldest files make room for new ones', () => {
  const folder = temporaryFolder()
  for (let age = 0; age < 5; age += 1) put(folder, `${age}.txt`, age)
  makeRoom(folder, { maxFiles: 4 })
  expect(readdirSync(folder).sort()).toEqual(['0.txt', '1.txt', '2.txt'])

  makeRoom(folder, { maxBytes: 25 })
  expect(readdirSync(folder).sort()).toEqual(['0.txt', '1.txt'])
})

test('a folder that was given outlives the server, one of its own does not', () => {
  const given = join(temporaryFolder(), 'output')
  const kept = openKeptOutput(given)
  writeFileSync(kept.nextFile(), 'all of it')
  kept.close()
  expect(readdirSync(given)).toHaveLength(1)

  const own = openKeptOutput(undefined)
  own.close()
  expect(() => readdirSync(own.folder)).toThrow('ENOENT')
})

test('a folder that is gone does not keep a command from running', () => {
  const given = join(temporaryFolder(), 'output')
  const kept = openKeptOutput(given)
  rmSync(given, { recursive: true })

  expect(dirname(kept.nextFile())).toBe(given)
})

function put(folder: string, name: string, age: number): void {
  writeFileSync(join(folder, name), 'ten bytes.')
  utimesSync(join(folder, name), 1000 - age, 1000 - age)
}
