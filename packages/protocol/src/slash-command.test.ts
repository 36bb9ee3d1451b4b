import { expect, test } from 'vitest'
import { parseComposed, suggestCommands } from './slash-command.ts'

test('what is typed is a message unless it is a command', () => {
  expect(parseComposed(' Go on. ')).toEqual({ kind: 'message', text: 'Go on.' })
  expect(parseComposed('/compact')).toEqual({ kind: 'command', name: 'compact', argument: '' })
  expect(parseComposed('/budget 2.50 ')).toEqual({ kind: 'command', name: 'budget', argument: '2.50' })
})

test('a path, or a text of several lines, is a message', () => {
  for (const text of ['/usr/bin/env', '/stop\nand think'])
    expect(parseComposed(text)).toEqual({ kind: 'message', text })
})

test('a sentence that begins with a slash is a message, whatever its first word is', () => {
  for (const text of ['/close button does not react', '/tmp is full', '/reset the counter at midnight'])
    expect(parseComposed(text)).toEqual({ kind: 'message', text })
})

test('a command that does not exist is not sent to the agent as words', () => {
  expect(parseComposed('/stpo')).toEqual({ kind: 'unknown command', name: 'stpo' })
  expect(parseComposed('/constructor')).toEqual({ kind: 'unknown command', name: 'constructor' })
})

test('two slashes send one', () => {
  expect(parseComposed('//stop is a command')).toEqual({ kind: 'message', text: '/stop is a command' })
})

test('commands are offered while their name is typed', () => {
  expect(suggestCommands('/re')).toEqual(['resume', 'review', 'reset'])
  expect(suggestCommands('/')).toContain('merge')
  expect(suggestCommands('/budget 3')).toEqual([])
  expect(suggestCommands('hello')).toEqual([])
})
