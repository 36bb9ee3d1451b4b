import { builtinTools, type Event, queueMessage } from '@matrix/protocol'
import { displayEvent } from '@matrix/protocol/display'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { formatDisplay } from './event-lines.ts'

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }
const call = {
  type: 'tool_call' as const,
  ...stamp,
  callId: 'c',
  name: builtinTools.bash,
  input: { command: 'npm test' },
}

test('words are read whole, and calls and results take a line each', () => {
  expect(lines({ type: 'message', ...stamp, message: queueMessage.user({ id: 'm', text: 'Fix it\nplease' }) })).toEqual(
    ['You', '  Fix it', '  please'],
  )
  expect(lines(call)).toEqual(['▸ Run npm test'])
  expect(
    lines({
      type: 'tool_result',
      ...stamp,
      callId: 'c',
      content: [{ type: 'text', text: 'a\nb\n[exit code 1]' }],
      isError: false,
    }),
  ).toEqual(['  └ exit code 1, 3 lines'])
})

test('untrusted content is marked at the end of its line, whatever was cut before it', () => {
  const origin = { source: 'web' as const, trusted: false, hosts: ['evil.example:443'] }
  const content = [{ type: 'text' as const, text: 'x'.repeat(300) }]
  const [line = ''] = lines({ type: 'tool_result', ...stamp, callId: 'c', content, isError: false, origin })

  expect(line).toMatch(/^ {2}└ x+… {2}untrusted: the web \(evil\.example\)$/)
})

test('what only the curious want is left out until they ask', () => {
  expect(lines({ type: 'messages_consumed', ...stamp, messageIds: ['m'] })).toEqual([])
  expect(lines({ type: 'messages_consumed', ...stamp, messageIds: ['m'] }, true)).toEqual(['· Read 1 message'])
})

test('verbose shows commands, diffs and files in full', () => {
  expect(lines(call, true)).toEqual(['▸ Run npm test', '    $ npm test'])
  expect(
    lines({ ...call, name: builtinTools.editFile, input: { path: 'a', old_string: 'x', new_string: 'y' } }, true),
  ).toEqual(['▸ Edit a (+1 −1)', '    -x', '    +y'])
})

test('a line that is too long is cut, and words are wrapped', () => {
  expect(lines({ ...call, input: { command: 'x'.repeat(300) } })[0]).toHaveLength(60)
  for (const line of lines({ type: 'assistant_text', ...stamp, text: 'word '.repeat(60) }))
    expect(line.length).toBeLessThanOrEqual(60)
})

function lines(event: Event, verbose = false): string[] {
  const shown = displayEvent(event, event.type === 'tool_result' ? { call } : {})
  return formatDisplay(shown, { width: 60, colors: picocolors.createColors(false), verbose })
}
