import { expect, test } from 'vitest'
import { type ProcessState, watchProcess } from './process-watch.ts'

const running: ProcessState = { isRunning: true, exitCode: null, output: '' }
const ended: ProcessState = { isRunning: false, exitCode: 0, output: 'all green' }

test('a command is followed until it ends, and its end is told once', async () => {
  expect(await follow([running, running, ended, ended])).toEqual([ended])
})

test('an error that nobody expected is told as the end of the command, and harms nobody else', async () => {
  expect(await follow([running, new Error('The pipe is gone.')])).toEqual([
    { isRunning: false, exitCode: null, output: 'How it ended is not known: The pipe is gone.' },
  ])
})

test('nothing is told of a command that ends because everything does', async () => {
  const closing = new AbortController()

  expect(await follow([running, () => closing.abort(new Error('Over.'))], closing.signal)).toEqual([])
})

/** What is told of a command that answers like this when it is asked. */
async function follow(
  answers: (ProcessState | Error | (() => void))[],
  signal = new AbortController().signal,
): Promise<ProcessState[]> {
  const told: ProcessState[] = []
  const left = answers.values()
  const ask = async () => {
    const answer = left.next().value ?? new Error('One question too many.')
    if (answer instanceof Error) throw answer
    if (typeof answer !== 'function') return answer
    answer()
    throw signal.reason
  }
  await watchProcess(ask, { signal, onEnd: (state) => told.push(state) })
  return told
}
