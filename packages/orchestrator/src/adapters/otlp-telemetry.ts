import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { ChatOutcome, Telemetry } from '../telemetry.ts'

export type OtlpOptions = {
  /** The address of a collector, without the path that is the same for all of them. */
  endpoint: string
  /** Called when the collector cannot be reached, once until it can be again. */
  onProblem(message: string): void
}

/** Nobody waits longer for a collector when Matrix ends. */
const closingMs = 1_500

/**
 * Sends spans to an OpenTelemetry collector, by the GenAI conventions (1.41). Loading this file loads OpenTelemetry, so it is
 * only imported where telemetry is configured. What was said and what tools were given is never sent.
 */
export function openOtlpTelemetry({ endpoint, onProblem }: OtlpOptions): Telemetry {
  const url = endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const exporter = reporting(new OTLPTraceExporter({ url, timeoutMillis: 5_000 }), (reason) =>
    onProblem(`Traces cannot be sent to ${url}: ${reason}`),
  )
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'matrix' }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('@matrix/orchestrator')

  // Where each agent worked last: what it has others do is linked to it, for it may wait while they work.
  const stretches = new Map<string, SpanContext>()

  return {
    watch(agent) {
      let work: Span | undefined
      const conversation = { 'gen_ai.conversation.id': agent.taskId }
      const begin = (name: string, kind: SpanKind, attributes: Attributes, links: Link[] = []) =>
        tracer.startSpan(name, { kind, attributes, links }, work ? trace.setSpan(ROOT_CONTEXT, work) : ROOT_CONTEXT)
      return {
        beginWork() {
          const above = agent.parentTaskId === null ? undefined : stretches.get(agent.parentTaskId)
          const attributes = {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.provider.name': providerName(agent.provider),
            'gen_ai.request.model': agent.model,
            'gen_ai.agent.id': agent.taskId,
            'gen_ai.agent.name': agent.name,
            ...conversation,
            'matrix.project.id': agent.projectId,
            'matrix.task.title': agent.title,
            ...(agent.parentTaskId !== null && { 'matrix.task.parent_id': agent.parentTaskId }),
          }
          const links = above ? [{ context: above }] : []
          const span = begin(`invoke_agent ${agent.name}`, SpanKind.INTERNAL, attributes, links)
          stretches.set(agent.taskId, span.spanContext())
          work = span
          return (failure) => {
            work = undefined
            end(span, failure)
          }
        },
        beginChat({ provider: name, model, maxOutputTokens }) {
          const span = begin(`chat ${model}`, SpanKind.CLIENT, {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': providerName(name),
            'gen_ai.request.model': model,
            'gen_ai.request.max_tokens': maxOutputTokens,
            ...conversation,
          })
          return (outcome) => endChat(span, outcome)
        },
        beginTool({ name, callId }) {
          const span = begin(`execute_tool ${name}`, SpanKind.INTERNAL, {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': name,
            'gen_ai.tool.call.id': callId,
            'gen_ai.tool.type': 'function',
            ...conversation,
          })
          return (failure) => end(span, failure)
        },
      }
    },
    async close() {
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, closingMs).unref())
      await Promise.race([provider.shutdown().catch(() => undefined), timeout])
    },
  }
}

function end(span: Span, failure: string | undefined): void {
  if (failure !== undefined) {
    span.setAttribute('error.type', failure)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

function endChat(span: Span, outcome: ChatOutcome): void {
  if ('failure' in outcome) {
    end(span, outcome.failure)
    return
  }
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = outcome.usage
  span.setAttributes({
    'gen_ai.response.model': outcome.model,
    'gen_ai.response.finish_reasons': [outcome.stopReason],
    // By the conventions, what was read from and written to a cache is part of the input.
    'gen_ai.usage.input_tokens': inputTokens + cacheReadTokens + cacheWriteTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens,
  })
  end(span, undefined)
}

/** The conventions know providers, not the dialects that they speak. */
function providerName(adapter: string): string {
  return adapter.startsWith('openai') ? 'openai' : adapter
}

/** The same exporter, which does not fail in silence. */
function reporting(exporter: SpanExporter, onFailure: (reason: string) => void): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error && !isFailing) onFailure(result.error.message)
        isFailing = result.error !== undefined
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
