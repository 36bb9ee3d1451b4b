import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { DurableEvent, type Event, LiveEvent } from '../event.ts'
import { hasHiddenCharacters } from '../hidden-characters.ts'
import type { Origin } from '../origin.ts'
import { queueMessage } from '../queue-message.ts'
import { builtinTools, loopTools, orchestratorTools } from '../tool-names.ts'
import {
  type Display,
  displayAnyEvent,
  displayEvent,
  displayMessage,
  displayToolCall,
  displayToolResult,
  oneLine,
  toolName,
} from './index.ts'

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }

test('every event has a title, and says who speaks and who needs to see it', () => {
  for (const event of samples) {
    const shown = displayEvent(event)
    expect(shown.title, event.type).not.toBe('')
    expect(oneLine(shown), event.type).not.toMatch(/undefined|\[object|\n/)
  }
  const types = [...DurableEvent.options, ...LiveEvent.options].map((option) => option.shape.type.value)
  expect(new Set(samples.map(({ type }) => type))).toEqual(new Set(types))
})

test('an event that is not known yet is shown as it is', () => {
  expect(displayAnyEvent({ type: 'moon_landed', at: 'noon' } as { type: string })).toMatchObject({
    weight: 'trace',
    title: 'moon_landed',
    bodies: [{ kind: 'json', text: expect.stringContaining('"at": "noon"') }],
  })
})

test('what came from an untrusted source is marked with it, and what came from elsewhere is not', () => {
  const result = { type: 'tool_result' as const, ...stamp, callId: 'c', content: [], isError: false }
  const marked = (origin: Origin) => displayEvent({ ...result, origin }).mark

  expect(marked({ source: 'web', trusted: false, hosts: ['evil.example:443'] })).toBe(
    'untrusted: the web (evil.example)',
  )
  const name = 'matrix://tool/mcp/fetch/fetch_txt@1.1.2'
  expect(marked({ source: 'tool', trusted: false, name })).toBe('untrusted: the tool fetch/fetch_txt')
  expect(marked({ source: 'repository', trusted: true })).toBeUndefined()
  const forged = marked({ source: 'web', trusted: false, hosts: [`a\u001b[2J\u202e${'x'.repeat(500)}`] }) ?? ''
  expect(hasHiddenCharacters(forged)).toBe(false)
  expect(forged.length).toBeLessThanOrEqual(120)
})

test('each of Matrix’s own tools has words of its own, and any other tool its name and arguments', () => {
  const own = [...Object.values(builtinTools), ...Object.values(orchestratorTools), ...Object.values(loopTools)]

  for (const name of own) expect(displayToolCall({ name, input: {} }).title, name).toMatch(/^[A-Z]/)
  expect(displayToolCall({ name: 'mcp__github__create_issue', input: { title: 'Bug', labels: ['a'] } })).toMatchObject({
    title: 'github/create_issue',
    summary: 'title: Bug, labels: ["a"]',
    bodies: [{ kind: 'json' }],
  })
  expect(toolName('mcp__mxd__bash')).toBe('bash')
  expect(displayToolCall({ name: 'mcp__mxd__constructor', input: {} }).title).toBe('constructor')
})

test('a command is shown with its output, and with how it ended', () => {
  const call = { name: builtinTools.bash, input: { command: 'npm test' } }

  expect(displayToolCall(call)).toMatchObject({ title: 'Run', summary: 'npm test' })
  expect(displayToolResult(answered('3 failed\n[exit code 1]'), call)).toMatchObject({
    tone: 'warning',
    summary: 'exit code 1, 2 lines',
    bodies: [{ kind: 'command', command: 'npm test', output: '3 failed\n[exit code 1]' }],
  })
  expect(displayToolResult(answered('ok'), call)).toMatchObject({ tone: 'plain', summary: 'ok' })
})

test('an edit is shown as a diff with a little of what stands around it', () => {
  const input = { path: 'a.ts', old_string: 'one\ntwo\nthree', new_string: 'one\n2\nthree' }

  expect(displayToolCall({ name: builtinTools.editFile, input })).toMatchObject({
    title: 'Edit',
    summary: 'a.ts (+1 −1)',
    bodies: [{ kind: 'diff', path: 'a.ts', lines: [' one', '-two', '+2', ' three'] }],
  })
  expect(
    displayToolCall({ name: builtinTools.editFile, input: { path: 'a', old_string: 'x', new_string: '' } }).bodies,
  ).toEqual([{ kind: 'diff', path: 'a', lines: ['-x'] }])
})

test('a file is shown without the numbers that were put before its lines', () => {
  const call = { name: builtinTools.readFile, input: { path: 'a.ts', offset: 9 } }

  expect(displayToolResult(answered('     9\tlet a\n    10\t\tb\n[more follows]'), call)).toMatchObject({
    title: 'Read',
    summary: '2 lines',
    bodies: [
      { kind: 'file', path: 'a.ts', firstLine: 9, text: 'let a\n\tb' },
      { kind: 'text', text: '[more follows]' },
    ],
  })
  expect(displayToolCall(call).summary).toBe('a.ts (from line 9)')
})

test('what a search found is rows with their places', () => {
  const call = { name: builtinTools.search, input: { pattern: 'TODO', glob: '*.ts' } }

  expect(displayToolCall(call).summary).toBe('TODO in *.ts')
  expect(
    displayToolResult(answered('src/a.ts:3:// a: 1:2\n[only the first 1 are shown; there are more]'), call),
  ).toEqual(
    expect.objectContaining({
      summary: '1 match',
      bodies: [
        {
          kind: 'search',
          rows: [
            { path: 'src/a.ts', line: 3, text: '// a: 1:2' },
            { path: null, line: null, text: '[only the first 1 are shown; there are more]' },
          ],
        },
      ],
    }),
  )
  expect(displayToolResult(answered('Nothing matches.'), call)).toMatchObject({
    summary: 'Nothing matches.',
    bodies: [],
  })
})

test('a failed call is bad news in every tool', () => {
  for (const name of [builtinTools.bash, builtinTools.readFile, orchestratorTools.mergeTask, 'mcp__x__y'])
    expect(displayToolResult({ ...answered('Denied.'), isError: true }, { name, input: {} })).toMatchObject({
      tone: 'bad',
      summary: 'Denied.',
    })
})

test('an error of Matrix is told in its words', () => {
  const text = JSON.stringify({ error: { code: 'TOOL_FAILED', message: 'No such file.', hint: 'Look again.' } })

  expect(displayToolResult({ ...answered(text), isError: true }, undefined)).toMatchObject({
    summary: 'No such file. Look again.',
    bodies: [{ kind: 'text', text: 'No such file.\nLook again.' }],
  })
})

test('a task is called by its title where it is known', () => {
  const titleOf = (id: string) => (id === 'T1' ? 'Fix the parser' : undefined)
  const send = (taskId: string) =>
    displayToolCall({ name: orchestratorTools.sendMessage, input: { taskId, message: 'hi' } }, { titleOf })

  expect(send('T1')).toMatchObject({ title: 'Send to Fix the parser', summary: 'hi' })
  expect(send('T2').title).toBe('Send to T2')
})

test('long text loses its middle and says so; a one-liner ends with an ellipsis', () => {
  const shown = displayEvent(
    { type: 'assistant_text', ...stamp, text: `start ${'x'.repeat(50_000)} end` },
    { maxLength: 100 },
  )
  const [body] = shown.bodies

  expect(body).toMatchObject({ text: expect.stringMatching(/^start x+\n… 49,910 characters left out …\nx+ end$/) })
  expect(shown.summary).toMatch(/…$/)
  expect(shown.summary.length).toBeLessThanOrEqual(240)
})

test('whatever a tool or a model writes, nothing hidden reaches the reader and nothing is longer than agreed', () => {
  const name = fc.constantFrom(
    ...Object.values(builtinTools),
    ...Object.values(orchestratorTools),
    ...Object.values(loopTools),
    'mcp__other__tool',
  )
  const nasty = fc.string({ unit: 'binary', maxLength: 300 })
  const field = fc.constantFrom('command', 'path', 'old_string', 'new_string', 'title', 'taskId', 'options', 'status')
  const input = fc.oneof(fc.dictionary(field, fc.oneof(nasty, fc.jsonValue())), fc.jsonValue())

  fc.assert(
    fc.property(name, input, nasty, fc.boolean(), (name, input, text, isError) => {
      for (const shown of [
        displayToolCall({ name, input }),
        displayToolCall({ name, input: {}, invalidInput: text }),
        displayToolResult({ ...answered(text), isError }, { name, input }),
        displayMessage(queueMessage.user({ id: 'm', text })),
      ])
        expectReadable(shown)
    }),
  )
})

function expectReadable(shown: Display): void {
  expect(shown.title).not.toContain('\n')
  expect(shown.summary).not.toContain('\n')
  expect(shown.title.length).toBeLessThanOrEqual(120)
  expect(shown.summary.length).toBeLessThanOrEqual(240)
  for (const text of textsOf(shown)) expect(hasHiddenCharacters(text), JSON.stringify(text)).toBe(false)
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

function answered(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: false }
}

const usage = { inputTokens: 1200, outputTokens: 30, cacheReadTokens: 0, cacheWriteTokens: 0 }
const spent = { ...stamp, scope: 'tree' as const, costUsd: 0.9, budgetUsd: 1 }
const samples: Event[] = [
  { type: 'message', ...stamp, message: queueMessage.user({ id: 'm', text: 'Hello' }) },
  { type: 'message', ...stamp, message: queueMessage.treeChange({ id: 'm', changedTaskId: 'x', summary: 's' }) },
  {
    type: 'message',
    ...stamp,
    message: queueMessage.taskComplete({ id: 'm', taskId: 'x', title: 'X', success: true, output: 'o', costUsd: 1 }),
  },
  {
    type: 'message',
    ...stamp,
    message: queueMessage.taskMessage({ id: 'm', fromTaskId: 'x', fromTitle: 'X', content: 'c' }),
  },
  { type: 'message', ...stamp, message: queueMessage.clarifyResponse({ id: 'm', clarificationId: 'q', answer: 'a' }) },
  {
    type: 'message',
    ...stamp,
    message: queueMessage.userMessageForwarded({ id: 'm', toTaskId: 'x', toTitle: 'X', text: 't' }),
  },
  {
    type: 'message',
    ...stamp,
    message: queueMessage.crossProject({ id: 'm', fromProjectId: 'p', fromProject: 'P', content: 'c' }),
  },
  {
    type: 'message',
    ...stamp,
    message: queueMessage.backgroundComplete({ id: 'm', processId: 'b', command: 'c', exitCode: null, output: '' }),
  },
  { type: 'message', ...stamp, message: queueMessage.compact({ id: 'm' }) },
  { type: 'messages_consumed', ...stamp, messageIds: ['m'] },
  { type: 'messages_withdrawn', ...stamp, messageIds: ['m'] },
  { type: 'assistant_text', ...stamp, text: 'Hello' },
  { type: 'tool_call', ...stamp, callId: 'c', name: builtinTools.bash, input: { command: 'ls' } },
  { type: 'tool_result', ...stamp, callId: 'c', ...answered('a.ts') },
  { type: 'turn_completed', ...stamp, model: 'm', stopReason: 'end_turn', usage, costUsd: 0.01 },
  { type: 'compact_started', ...stamp, reason: 'manual', tokens: 1000 },
  { type: 'summarization_request', ...stamp, text: 'Sum up' },
  { type: 'compact_marker', ...stamp, checkpoint: 'So far' },
  { type: 'compacted_resume', ...stamp, text: 'Go on' },
  { type: 'notice', ...stamp, text: 'You repeat yourself' },
  { type: 'orchestration_started', ...stamp, model: 'm' },
  { type: 'orchestration_completed', ...stamp, exitReason: 'done_passed', output: 'o', costUsd: 1, turns: 3 },
  { type: 'task_started', ...stamp, title: 'T', branch: 'b', worktreePath: '/w' },
  { type: 'clarification_requested', ...stamp, clarificationId: 'q', question: 'Which?', options: ['a', 'b'] },
  { type: 'clarification_answered', ...stamp, clarificationId: 'q', answer: 'a', by: 'timeout' },
  { type: 'fork_marker', ...stamp, sourceTaskId: 'x', title: 'T', description: 'd', worktreePath: null },
  { type: 'rewind_marker', ...stamp, upTo: 7 },
  { type: 'budget_warning', ...spent },
  { type: 'budget_exceeded', ...spent },
  { type: 'config_requested', ...stamp, by: 'user' },
  { type: 'session_config', ...stamp, provider: 'p', model: 'm', systemPrompt: 's', tools: [] },
  { type: 'error', ...stamp, code: 'INTERNAL', message: 'Broken' },
  { type: 'agent_stopped', ...stamp, reason: 'by you' },
  { type: 'agent_resumed', ...stamp, by: 'user' },
  { type: 'text_delta', ...stamp, text: 'Hel' },
  { type: 'usage', ...stamp, model: 'm', usage, costUsd: 0.01, contextTokens: 5 },
  { type: 'agent_idle', ...stamp },
  { type: 'agent_active', ...stamp },
  { type: 'status', ...stamp, text: 'retrying' },
  { type: 'tool_output', ...stamp, callId: 'c', text: 'compiling\n' },
  { type: 'clarification_timeout', ...stamp, clarificationId: 'q' },
]
