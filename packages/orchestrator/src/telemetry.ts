import type { Event, TokenUsage } from '@matrix/protocol'
import type { AgentResult, ProviderAdapter, Route, ToolDefinition } from '@matrix/provider-loop'

/** Who does the work that is watched. */
export type WatchedAgent = {
  projectId: string
  taskId: string
  parentTaskId: string | null
  title: string
  /** The manifest it works under. */
  name: string
  provider: string
  model: string
}

export type ChatOutcome =
  | { model: string; stopReason: string; usage: TokenUsage }
  /** What went wrong, in one word or as a code. */
  | { failure: string }

/** One agent, watched while it lives. Each begin answers with its end. */
export type AgentWatch = {
  /** A stretch of work, from waking up until it waits or ends. */
  beginWork(): (failure?: string) => void
  /** One call to a model, without the wait for a place. */
  beginChat(call: { provider: string; model: string; maxOutputTokens: number }): (outcome: ChatOutcome) => void
  beginTool(call: { name: string; callId: string }): (failure?: string) => void
}

/** Somebody who watches agents at work. There is nobody, unless asked for; nothing depends on it. */
export type Telemetry = {
  watch(agent: WatchedAgent): AgentWatch
  /** Hands over what was seen last, for as long as that may take at an end. */
  close(): Promise<void>
}

/** The same route, with every call to the model watched. */
export function watchRoute({ adapter, model }: Route, watch: AgentWatch): Route {
  const callAPI: ProviderAdapter['callAPI'] = async (call, onText) => {
    const end = watch.beginChat({ provider: adapter.name, model: call.model, maxOutputTokens: call.maxOutputTokens })
    let outcome: ChatOutcome = { failure: 'cancelled' }
    try {
      const response = await adapter.callAPI(call, onText)
      outcome = { model: response.model, stopReason: response.stopReason, usage: response.usage }
      return response
    } catch (error) {
      outcome = { failure: failureOf(error) }
      throw error
    } finally {
      end(outcome)
    }
  }
  return { adapter: { ...adapter, callAPI }, model }
}

/** The same tool, with every call of it watched. */
export function watchTool(tool: ToolDefinition, watch: AgentWatch): ToolDefinition {
  return {
    ...tool,
    async handler(input, extra) {
      const end = watch.beginTool({ name: tool.name, callId: extra.toolCallId })
      try {
        const result = await tool.handler(input, extra)
        end(result.isError ? 'tool_error' : undefined)
        return result
      } catch (error) {
        end(failureOf(error))
        throw error
      }
    },
  }
}

/** The same events, with each stretch of work watched. An agent that waits, perhaps for days, is not at work. */
export async function* watchEvents(
  events: AsyncGenerator<Event, AgentResult>,
  watch: AgentWatch,
): AsyncGenerator<Event, AgentResult> {
  let endWork: ((failure?: string) => void) | undefined = watch.beginWork()
  let failure: string | undefined
  try {
    for (;;) {
      const step = await events.next()
      if (step.done) return step.value
      const { value: event } = step
      if (event.type === 'error') failure = event.code
      if (event.type === 'agent_idle') {
        endWork?.(failure)
        endWork = undefined
      }
      if (event.type === 'agent_active') {
        failure = undefined
        endWork ??= watch.beginWork()
      }
      yield event
    }
  } finally {
    endWork?.(failure)
  }
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
