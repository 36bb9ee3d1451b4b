import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { corpus } from './corpus.ts'
import type { Project } from './project.ts'
import { runProgram } from './run-command.ts'
import { expectRecorded, readRun, recorded } from './suite-run.ts'

test('a test run is read from what its command printed, whether tests failed or not', async () => {
  const folder = await record(`printf '%s\\n' '1..1' 'not ok 1 - adds'; false`)

  expect([...readRun(tapProject(), folder).results]).toEqual([['adds', ['failed']]])
})

test('a test run that a signal ended, or that has no end, is no result', async () => {
  const killed = await record(`bash -c 'kill -TERM $$'`)
  const cut = mkdtempSync(join(tmpdir(), 'proving-cut-'))
  onTestFinished(() => rmSync(cut, { recursive: true }))
  mkdirSync(join(cut, '.proving'))
  writeFileSync(join(cut, '.proving/test.log'), 'ok 1 - adds\n')

  expect(() => readRun(tapProject(), killed)).toThrow('test ended with 143')
  expect(() => readRun(tapProject(), cut)).toThrow('test ended with nothing')
})

test('a setup that fails is named with the end of what it printed', async () => {
  const folder = await record('echo no such compiler; exit 3')

  expect(() => expectRecorded('test', folder)).toThrow(/test ended with 3 in .*no such compiler/s)
})

async function record(command: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'proving-run-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await runProgram(['bash', '-c', recorded(command, 'test')], { cwd: folder })
  return folder
}

function tapProject(): Project {
  const found = corpus.find(({ format }) => format === 'tap')
  if (!found) throw new Error('No project prints TAP.')
  return found
}
