import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { openLiveScreen } from './live-screen.ts'

test('lines are drawn over themselves in one write, and nothing is written when nothing changed', () => {
  const { stream, writes } = fakeTerminal(10)
  const screen = openLiveScreen(stream)
  writes.length = 0

  screen.draw(['a', 'b'])
  screen.draw(['a', 'b'])
  screen.draw(['a', 'c'])

  expect(writes).toHaveLength(2)
  expect(writes[1]).toContain('\u001B[2A')
  expect(writes.join('')).not.toContain('\u001B[2J')
  screen.close()
  expect(writes.at(-1)).toBe('\u001B[?25h')
})

test('what does not fit on the screen is counted, not scrolled', () => {
  const { stream, writes } = fakeTerminal(4)
  openLiveScreen(stream).draw(['1', '2', '3', '4', '5'])

  expect(writes.at(-1)).toContain('… 3 more lines')
  expect(writes.at(-1)?.match(/\n/g)).toHaveLength(3)
})

function fakeTerminal(rows: number): { stream: NodeJS.WriteStream; writes: string[] } {
  const writes: string[] = []
  const stream = Object.assign(new EventEmitter(), { rows, write: (text: string) => writes.push(text) > 0 })
  return { stream: stream as unknown as NodeJS.WriteStream, writes }
}
