import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { defaultModels } from '@matrix/provider-loop'
import { expect, test, vi } from 'vitest'
import { openTestOrchestrator } from '../node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

type Value = { stringValue?: string; intValue?: number | string; arrayValue?: { values: Value[] } }
type SentSpan = {
  name: string
  traceId: string
  spanId: string
  links?: { traceId: string; spanId: string }[]
  parentSpanId?: string
  kind: number
  status: { code?: number }
  attributes: { key: string; value: Value }[]
}

/** A collector that takes what OTLP over HTTP brings. */
async function openCollector() {
  const spans: SentSpan[] = []
  const paths: (string | undefined)[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    paths.push(request.url)
    for (const { scopeSpans } of JSON.parse(text).resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans)
    response.setHeader('content-type', 'application/json').end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { spans, paths, url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

function attributesOf({ attributes }: SentSpan): Record<string, unknown> {
  const plain = ({ stringValue, intValue, arrayValue }: Value): unknown =>
    arrayValue ? arrayValue.values.map(plain) : (stringValue ?? Number(intValue))
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))
}

function loadedTelemetry(): string[] {
  return Object.keys(createRequire(import.meta.url).cache).filter((file) =>
    file.includes('/node_modules/@opentelemetry/'),
  )
}

// The order matters: what the second test loads stays loaded.
test('where telemetry is not configured, nothing of OpenTelemetry is loaded', async () => {
  const { close } = await openTestOrchestrator()
  await close()

  expect(loadedTelemetry()).toEqual([])
})

test('an agent at work is a trace: its stretch, its calls to the model, its tools, and how each went', async () => {
  const collector = await openCollector()
  const { orchestrator, mock, send, projectId, rootId, close } = await openTestOrchestrator({
    telemetry: { otlpEndpoint: collector.url },
  })
  mock.play({
    match: 'Look around',
    turns: [
      { toolCalls: [{ name: 'mcp__mxd__get_task', input: { taskId: 'nobody' } }] },
      { toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Seen.' } }] },
    ],
  })
  await send('Look around')
  const params = { projectId, taskId: rootId }
  await vi.waitFor(
    async () =>
      expect(await orchestrator.getTask({ params, query: {}, body: undefined })).toMatchObject({ status: 'passed' }),
    { timeout: 60_000, interval: 200 },
  )
  await close()
  collector.close()

  expect(loadedTelemetry()).not.toEqual([])
  expect(new Set(collector.paths)).toEqual(new Set(['/v1/traces']))
  const model = `${defaultModels.anthropic}-simulated`
  expect(collector.spans.map(({ name }) => name).toSorted()).toEqual([
    `chat ${model}`,
    `chat ${model}`,
    'execute_tool mcp__mxd__done',
    'execute_tool mcp__mxd__get_task',
    'invoke_agent default',
  ])
  const find = (start: string) => collector.spans.find(({ name }) => name.startsWith(start)) as SentSpan
  const work = find('invoke_agent')
  for (const span of collector.spans) if (span !== work) expect(span.parentSpanId).toBe(work.spanId)
  expect(attributesOf(work)).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.agent.id': rootId,
    'gen_ai.agent.name': 'default',
    'gen_ai.conversation.id': rootId,
    'matrix.project.id': projectId,
  })
  expect(attributesOf(find('chat'))).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': model,
    'gen_ai.response.finish_reasons': ['tool_use'],
    'gen_ai.usage.input_tokens': expect.any(Number),
    'gen_ai.usage.output_tokens': expect.any(Number),
  })
  expect(find('chat').kind).toBe(3)
  expect(attributesOf(find('execute_tool mcp__mxd__get_task'))).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'mcp__mxd__get_task',
    'gen_ai.tool.call.id': expect.any(String),
    'error.type': 'tool_error',
  })
  expect(find('execute_tool mcp__mxd__get_task').status.code).toBe(2)
  expect(attributesOf(find('execute_tool mcp__mxd__done'))).not.toHaveProperty('error.type')
  // Neither what was asked nor what was answered leaves the machine.
  expect(JSON.stringify(collector.spans)).not.toMatch(/Look around|Seen\.|nobody/)
})

test('a collector that cannot be reached is told of once, and nothing waits for it', async () => {
  const { openOtlpTelemetry } = await import('./otlp-telemetry.ts')
  const collector = await openCollector()
  collector.close()
  const problems: string[] = []
  const telemetry = openOtlpTelemetry({ endpoint: `${collector.url}/`, onProblem: (message) => problems.push(message) })
  const agent = { projectId: 'p', taskId: 't', parentTaskId: null, title: 'T', name: 'default' }
  telemetry.watch({ ...agent, provider: 'openai-chat', model: 'm' }).beginWork()('INTERNAL')
  const before = Date.now()
  await telemetry.close()

  expect(Date.now() - before).toBeLessThan(20_000)
  await vi.waitFor(() => expect(problems).toHaveLength(1), { timeout: 10_000 })
  expect(problems[0]).toContain(`${collector.url}/v1/traces`)
})

test('what an agent does is linked to what the agent of the task above was doing, also when that only waits by now', async () => {
  const { openOtlpTelemetry } = await import('./otlp-telemetry.ts')
  const collector = await openCollector()
  const telemetry = openOtlpTelemetry({ endpoint: collector.url, onProblem: () => {} })
  const work = (taskId: string, parentTaskId: string | null) => {
    const about = { projectId: 'p', title: taskId, name: taskId, provider: 'anthropic', model: 'm' }
    telemetry.watch({ taskId, parentTaskId, ...about }).beginWork()()
  }
  work('root', null)
  work('part', 'root')
  await telemetry.close()
  collector.close()

  const [root, part] = ['root', 'part'].map((name) => collector.spans.find((span) => span.name.endsWith(name)))
  expect(part?.links).toMatchObject([{ traceId: root?.traceId, spanId: root?.spanId }])
  expect(part?.traceId).not.toBe(root?.traceId)
  expect(root?.links ?? []).toEqual([])
})
