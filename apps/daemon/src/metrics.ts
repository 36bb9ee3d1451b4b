import type { Orchestrator } from '@matrix/orchestrator'
import type { DurableEvent } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'

/** What happens, counted in the text format of Prometheus. */
export type Metrics = {
  contentType: string
  read(now: { streams: number }): string
}

type Labels = Record<string, string>

/** A model can invent names of tools; beyond so many, they are counted together. */
const MAX_SERIES = 500

/** Counts from now on. Nothing is counted, and nobody listens, unless this is called. */
export function openMetrics(orchestrator: Pick<Orchestrator, 'subscribe' | 'agents'>): Metrics {
  const turns = openCounter('matrix_turns_total', 'Turns of models.')
  const tokens = openCounter('matrix_tokens_total', 'Tokens that models read and wrote.')
  const cost = openCounter('matrix_cost_usd_total', 'What models cost, in dollars.')
  const toolCalls = openCounter('matrix_tool_calls_total', 'Calls of tools that were answered.')
  const toolNames = new Map<string, string>()

  function count(taskId: string, event: DurableEvent): void {
    if (event.type === 'turn_completed') {
      const { model, stopReason, usage } = event
      turns.add({ model, stop_reason: stopReason }, 1)
      tokens.add({ model, type: 'input' }, usage.inputTokens)
      tokens.add({ model, type: 'output' }, usage.outputTokens)
      tokens.add({ model, type: 'cache_read' }, usage.cacheReadTokens)
      tokens.add({ model, type: 'cache_write' }, usage.cacheWriteTokens)
      cost.add({ model }, event.costUsd)
    }
    if (event.type === 'tool_call') toolNames.set(`${taskId}/${event.callId}`, event.name)
    if (event.type === 'tool_result') {
      const tool = toolNames.get(`${taskId}/${event.callId}`) ?? 'unknown'
      toolNames.delete(`${taskId}/${event.callId}`)
      toolCalls.add({ tool, result: event.isError ? 'error' : 'ok' }, 1)
    }
  }

  orchestrator.subscribe((frame: Frame) => {
    // What a later version stores is of no type that is counted here.
    if (frame.kind === 'event') count(frame.taskId, frame.event as DurableEvent)
  })

  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    read({ streams }) {
      const { live, working } = orchestrator.agents()
      return [
        ...[turns, tokens, cost, toolCalls].map((counter) => counter.format()),
        formatSeries('matrix_agents', 'gauge', 'Agents whose task is not ended, and those of them at work.', [
          [formatLabels({ state: 'live' }), live],
          [formatLabels({ state: 'working' }), working],
        ]),
        formatSeries('matrix_event_streams', 'gauge', 'Clients that follow the events.', [['', streams]]),
      ].join('')
    },
  }
}

function openCounter(name: string, help: string) {
  const series = new Map<string, number>()
  return {
    add(labels: Labels, amount: number): void {
      const key = formatLabels(labels)
      const kept = series.has(key) || series.size < MAX_SERIES ? key : formatLabels({ other: 'true' })
      series.set(kept, (series.get(kept) ?? 0) + amount)
    },
    format: () => formatSeries(name, 'counter', help, [...series]),
  }
}

function formatSeries(name: string, type: 'counter' | 'gauge', help: string, series: [string, number][]): string {
  const lines = series.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function formatLabels(labels: Labels): string {
  const quoted = (text: string) => JSON.stringify(text.slice(0, 100).replaceAll(/\p{Cc}/gu, ' '))
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}=${quoted(value)}`)
    .join(',')}}`
}
