import type { Policy } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { bootHarness, manifestOf, scriptedServer, surface, textOf } from './scripted-server.testing.ts'

test('a call by wire name and one by pinned URI reach the same tool', async () => {
  const { call } = await bootHarness()

  expect(textOf(await call('mcp__scripted__echo', { value: 'hello' }))).toBe('hello')
  expect(textOf(await call('matrix://tool/mcp/scripted/echo@1.0.0', { value: 'hello' }))).toBe('hello')
})

test('what a reader of a result does not see is removed from every part of it, and the result says how much', async () => {
  const hidden = 'see\u{E0068}\u200Bn \u{1F469}\u200D\u{1F680}'
  const result = {
    content: [
      { type: 'text', text: hidden },
      { type: 'resource', resource: { uri: 'file:///b', mimeType: 'text/plain', text: hidden } },
      { type: 'resource_link', uri: 'file:///a', name: hidden },
    ],
  }
  const { call } = await bootHarness({ servers: [scriptedServer({ tools: [surface('parts')], result })] })

  expect(textOf(await call('parts'))).toBe(
    'seen 👩‍🚀\nseen 👩‍🚀\n[resource seen 👩‍🚀 at file:///a]\n[6 invisible characters were removed here]',
  )
})

test('text, images and structured results survive', async () => {
  const result = {
    content: [
      { type: 'text', text: 'words' },
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
      { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
      { type: 'resource', resource: { uri: 'file:///b', mimeType: 'text/plain', text: 'inside' } },
    ],
    structuredContent: { sum: 3 },
  }
  const { call } = await bootHarness({ servers: [scriptedServer({ tools: [surface('parts')], result })] })
  const answer = await call('parts')

  expect(answer.structured).toEqual({ sum: 3 })
  expect(answer.content[1]).toEqual({ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' })
  expect(textOf(answer)).toBe(
    'words\n[image]\n[audio of type audio/wav, which is not shown]\n[resource a at file:///a]\ninside',
  )
})

test('an error of the tool is a value with the tool’s own words', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({ tools: [surface('fail')] })] })

  expect(await call('fail')).toMatchObject({ isError: true, content: [{ type: 'text', text: 'It did not work.' }] })
})

test('of a result that is too long the beginning and the end are shown, and all of it is kept elsewhere', async () => {
  const spilled: string[] = []
  const { call } = await bootHarness({
    spill: async (text) => {
      spilled.push(text)
      return '/spill/1.txt'
    },
  })
  const answer = await call('flood', { bytes: 3 << 20 })

  expect(textOf(answer).length).toBeLessThan(30_200)
  expect(textOf(answer)).toContain(`all ${3 << 20} are in /spill/1.txt`)
  expect(spilled[0]?.length).toBe(3 << 20)
})

test('progress restarts the clock of a call, but not for ever', async () => {
  const servers = [scriptedServer({ tools: [surface('slow')] })]
  const { call } = await bootHarness({ servers, toolTimeoutMs: 1000 })

  expect(await call('slow', { ms: 3000, steps: 30 })).toMatchObject({ isError: false })
  expect(await call('slow', { ms: 20_000, steps: 100 })).toMatchObject({
    code: 'TOOL_TIMEOUT',
    error: { message: expect.stringContaining('6000 ms') },
  })
  expect(await call('slow', { ms: 5000, steps: 1 })).toMatchObject({
    code: 'TOOL_TIMEOUT',
    error: { message: expect.stringContaining('1000 ms') },
  })
}, 30_000)

test('a call of an agent that was stopped while a person was asked is not called denied', async () => {
  const policy: Policy = { tools: ['*'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {} }
  const stop = new AbortController()
  const { call } = await bootHarness({
    policy,
    approve: async () => {
      stop.abort()
      return { decision: 'deny' }
    },
  })

  expect(await call('echo', {}, { signal: stop.signal })).toMatchObject({
    code: 'TOOL_CANCELLED',
    error: { message: expect.stringContaining('had no effect') },
  })
})

test('case 28: a result that is nested a hundred thousand deep is an error like any other', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({ tools: [surface('deep'), surface('echo')] })] })

  expect(await call('deep', { depth: 100_000 })).toMatchObject({ isError: true, code: 'TOOL_FAILED' })
  expect(await call('deep', { depth: 50 })).toMatchObject({ isError: false })
  expect(textOf(await call('echo', { value: 'still here' }))).toBe('still here')
})

test('a call takes its place once a person has said yes, and gives it back when it is over', async () => {
  const policy: Policy = { tools: ['*'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {} }
  const steps: string[] = []
  const { call } = await bootHarness({
    policy,
    servers: [scriptedServer({ tools: [surface('echo'), surface('fail')] })],
    async approve({ id, inputDigest, input }) {
      steps.push('asked')
      if (input !== null && typeof input === 'object' && 'no' in input) return { decision: 'deny' }
      return { decision: 'allow', scope: 'once', id, inputDigest }
    },
  })
  const enter = async () => {
    steps.push('entered')
    return () => void steps.push('left')
  }

  await call('echo', { no: true }, { enter })
  expect(steps.splice(0)).toEqual(['asked'])
  await call('echo', { value: 1 }, { enter })
  expect(steps.splice(0)).toEqual(['asked', 'entered', 'left'])
  await call('fail', {}, { enter })
  expect(steps).toEqual(['asked', 'entered', 'left'])
})

test('a call that is cancelled ends at once, and the server is told', async () => {
  const servers = [scriptedServer({ tools: [surface('silent'), surface('cancelled')] })]
  const { call } = await bootHarness({ servers })
  await call('cancelled')
  const abort = new AbortController()

  expect(await call('silent', {}, { signal: abort.signal, onProgress: () => abort.abort() })).toMatchObject({
    isError: true,
    code: 'TOOL_CANCELLED',
  })
  expect(textOf(await call('cancelled'))).toBe('1')
})

test('a call can be given up while its server is still starting', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer({ neverAnswers: true })] })

  expect(await call('echo', {}, { signal: AbortSignal.timeout(50) })).toMatchObject({ code: 'TOOL_CANCELLED' })
})

test('a tool says how far it is while it works', async () => {
  const seen: number[] = []
  const { call } = await bootHarness({ servers: [scriptedServer({ tools: [surface('slow')] })] })
  await call('slow', { ms: 120, steps: 3 }, { onProgress: ({ progress }) => seen.push(progress) })

  expect(seen).toEqual([1, 2, 3])
})

test('a tool that never answers is given up after its own time limit', async () => {
  const server = scriptedServer({ tools: [surface('silent')] })
  const servers = [{ ...server, tools: [{ name: 'silent', side_effect_class: 'read' as const, timeout_ms: 150 }] }]
  const { call } = await bootHarness({ servers })

  expect(await call('silent')).toMatchObject({
    code: 'TOOL_TIMEOUT',
    error: { message: expect.stringContaining('150 ms') },
  })
})

test('the arguments that were checked are the ones that are sent, whatever the caller does meanwhile', async () => {
  const { call } = await bootHarness()
  const input = { value: 'checked' }
  const pending = call('echo', input)
  input.value = 'changed'

  expect(textOf(await pending)).toBe('checked')
})

test('case 28: arguments that are nested a hundred thousand deep are refused as a value', async () => {
  const { call } = await bootHarness()
  const value = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)

  expect(await call('echo', { value })).toMatchObject({ isError: true, code: 'TOOL_FAILED' })
})

test('arguments that are no object are refused as a value', async () => {
  const { call } = await bootHarness()

  expect(await call('echo', [1])).toMatchObject({ isError: true, code: 'TOOL_FAILED' })
})

test('a class that the manifest does not allow is denied without telling the model why', async () => {
  const { call, events, running } = await bootHarness({
    manifest: manifestOf([scriptedServer()], { allowed_side_effects: ['write'] }),
  })
  const answer = await call('echo', { value: 1 })

  expect(answer).toMatchObject({ isError: true, code: 'AUTHORIZATION_DENIED' })
  expect(textOf(answer)).not.toMatch(/read|write|manifest/)
  expect(events).toContainEqual(expect.objectContaining({ type: 'call_denied', step: 'side-effects' }))
  expect(running()).toBe(0)
})

test('unknown, unpinned and ambiguous names are three different errors', async () => {
  const { call } = await bootHarness({ servers: [scriptedServer(), scriptedServer({}, { alias: 'other' })] })

  expect(await call('mcp__scripted__nothing')).toMatchObject({ code: 'TOOL_UNKNOWN' })
  expect(await call('matrix://tool/mcp/scripted/echo')).toMatchObject({ code: 'ErrUnpinnedTool' })
  expect(await call('echo')).toMatchObject({ code: 'TOOL_AMBIGUOUS' })
  expect(await call('matrix://tool/mcp/scripted/echo@2.0.0')).toMatchObject({ code: 'TOOL_UNKNOWN' })
})

test('a yes from before untrusted content was read does not answer the question that comes after it', async () => {
  const led = [{ source: 'web' as const, name: 'evil.example', taskId: 'T', id: 'c1', at: '2026-01-01T00:00:00.000Z' }]
  const questions: unknown[] = []
  let isAfter = false
  const { call } = await bootHarness({
    policy: { tools: ['*'], allowedTools: [], toolsSettings: {}, resources: [], hooks: {} },
    flow: async () => (isAfter ? { verdict: 'ask', reason: 'It goes out.', led } : undefined),
    approve: async ({ id, inputDigest, led: shown, mayAllowAny }) => {
      questions.push({ shown, mayAllowAny })
      return { decision: 'allow', scope: 'task', id, inputDigest, anyArguments: mayAllowAny === true }
    },
  })
  await call('mcp__scripted__echo', { value: 'a' })
  await call('mcp__scripted__echo', { value: 'b' })
  isAfter = true
  await call('mcp__scripted__echo', { value: 'a' })
  await call('mcp__scripted__echo', { value: 'a' })
  await call('mcp__scripted__echo', { value: 'b' })

  expect(questions).toEqual([
    { shown: undefined, mayAllowAny: true },
    { shown: led, mayAllowAny: undefined },
    { shown: led, mayAllowAny: undefined },
  ])
})

test('what the flow of content forbids is not called, whatever else allows it', async () => {
  const { call } = await bootHarness({ flow: async () => ({ verdict: 'deny', reason: 'It goes out.', led: [] }) })

  expect(await call('mcp__scripted__echo', { value: 'a' })).toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})
