import { createInterface } from 'node:readline/promises'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { exitCode } from './exit-code.ts'
import { explainFailure } from './failure.ts'
import { readLine } from './prompt.ts'

test('a line is read as it was typed', async () => {
  expect(await typed('  Yes, please \r')).toBe('Yes, please')
})

test('Ctrl-C at a question ends the command as interrupted, and is no fault', async () => {
  const error = await typed('half a line\u0003').catch((error: unknown) => error)

  expect(explainFailure(error, { json: true })).toBe(exitCode.interrupted)
})

test('Ctrl-D at a question, or the end of what is typed, says nothing', async () => {
  expect(await typed('\u0004')).toBe('')
  expect(await typed(undefined)).toBe('')
})

/** What somebody types at a terminal who is asked something. */
function typed(keys: string | undefined): Promise<string> {
  const input = new PassThrough()
  const answer = readLine(createInterface({ input, output: new PassThrough(), terminal: true }), 'Well? ')
  if (keys === undefined) input.end()
  else input.write(keys)
  return answer
}
