import { loopTools, type Origin, type ToolContent, type ToolSpec } from '@matrix/protocol'
import { interruptedText } from './conversation.ts'
import { currentToolName } from './tool-name-aliases.ts'

/** What a tool asks of the loop beside its answer: to wait for messages, or to end the agent. */
export type LoopControl = { kind: 'wait'; question?: { question: string; options?: string[] } } | Exit

type Exit = { kind: 'exit'; exitReason: 'done_passed' | 'done_failed'; output: string }

export type ToolExecResult = {
  content: ToolContent[]
  isError: boolean
  control?: LoopControl
  /** Where the content came from; kept with the result. The model is not told. */
  origin?: Origin
  /** The process that the call has left running; kept with the result. */
  background?: { processId: string }
}

/** A tool that the model is told of, and what runs when it is called. */
export type ToolDefinition = ToolSpec & {
  /** Where the tool comes from, kept with every call of it. The model is not told. */
  uri?: string
  handler(
    input: Record<string, unknown>,
    extra: { toolCallId: string; signal: AbortSignal },
  ): Promise<ToolExecResult> | ToolExecResult
}

export type ToolHandlers = ReadonlyMap<string, ToolDefinition>

export function textResult(text: string, isError = false): ToolExecResult {
  return { content: [{ type: 'text', text }], isError }
}

/** The one way to run a tool. Whatever goes wrong is a result that the model can read, never an exception. */
export async function executeTool(
  toolName: string,
  input: Record<string, unknown>,
  handlers: ToolHandlers,
  extra: { toolCallId: string; signal: AbortSignal },
): Promise<ToolExecResult> {
  const tool = handlers.get(currentToolName(toolName))
  if (!tool) return textResult(`There is no tool ${toolName}. Available: ${[...handlers.keys()].join(', ')}.`, true)
  try {
    return await tool.handler(input, extra)
  } catch (error) {
    if (extra.signal.aborted) return textResult(interruptedText, true)
    return textResult(`${toolName} failed: ${error instanceof Error ? error.message : String(error)}`, true)
  }
}

/** The loop's own verbs. An orchestrator that has more to do when an agent ends replaces `done` with its own. */
export function createLoopTools(): ToolDefinition[] {
  return [
    {
      name: loopTools.yield,
      description: 'Pause until a message arrives. Costs nothing while you wait. Use it when others work for you.',
      inputSchema: { type: 'object', properties: {} },
      handler: () => ({ ...textResult('You were woken by the messages below.'), control: { kind: 'wait' } }),
    },
    {
      name: loopTools.done,
      description: 'End your task. Say whether it passed or failed, and sum up what was done and what was not.',
      inputSchema: {
        type: 'object',
        properties: { status: { type: 'string', enum: ['passed', 'failed'] }, summary: { type: 'string' } },
        required: ['status', 'summary'],
      },
      handler: finish,
    },
    {
      name: loopTools.clarify,
      description: 'Ask the person in charge and pause until the answer, or any other message, arrives.',
      inputSchema: {
        type: 'object',
        properties: { question: { type: 'string' }, options: { type: 'array', items: { type: 'string' } } },
        required: ['question'],
      },
      handler: ask,
    },
  ]
}

function finish(input: Record<string, unknown>): ToolExecResult {
  const control = readDone(input)
  if (control) return { ...textResult('The task is ended.'), control }
  return textResult('done needs "status" ("passed" or "failed") and "summary" (text). The task is not ended.', true)
}

/** What a call of `done` asks for, if it is written as it should be. */
export function readDone({ status, summary }: Record<string, unknown>): Exit | undefined {
  if ((status !== 'passed' && status !== 'failed') || typeof summary !== 'string') return undefined
  return { kind: 'exit', exitReason: `done_${status}`, output: summary }
}

function ask({ question, options }: Record<string, unknown>): ToolExecResult {
  if (typeof question !== 'string' || question.trim() === '') return textResult('clarify needs a "question".', true)
  const choices = Array.isArray(options) ? { options: options.map(String) } : {}
  return { ...textResult('Asked.'), control: { kind: 'wait', question: { question, ...choices } } }
}
