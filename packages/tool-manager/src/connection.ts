import { randomUUID } from 'node:crypto'
import { ToolSurface } from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/client'
import * as z from 'zod'
import { CALL_META, END_CALL } from './builtin/call-end.ts'
import { type CallLimit, totalLimit } from './call-limit.ts'
import { isTooDeep } from './json-depth.ts'
import { findHeaderFault } from './mirrored-header.ts'

/** What a server answered to a call, before anything is cut or taken out of it. */
export type RawResult = z.infer<typeof RawResult>
const RawResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

const ToolPage = z.object({
  tools: z.array(ToolSurface),
  nextCursor: z.string().optional(),
  ttlMs: z.number().nonnegative().optional().catch(undefined),
})

export type ToolList = { tools: ToolSurface[]; ttlMs: number | undefined }

export type ListOptions = { timeoutMs: number; signal?: AbortSignal | undefined }

export type CallOptions = {
  limit: CallLimit
  signal?: AbortSignal | undefined
  onProgress?: ((progress: CallProgress) => void) | undefined
  /** Said beside the arguments, where only a server looks that knows of it. */
  meta?: Record<string, unknown> | undefined
  /** The server is Matrix's own: a call that is given up still answers with what it has. */
  isBuiltin?: boolean | undefined
}

export type CallProgress = { progress: number; total?: number | undefined; message?: string | undefined }

/** `modern` is 2026-07-28 and later, `legacy` whatever begins with `initialize`. */
export type Era = 'modern' | 'legacy'

/** A live conversation with one server. */
export type Connection = {
  era: Era
  /** All pages. */
  listTools(options: ListOptions): Promise<ToolList>
  callTool(tool: ToolSurface, input: Record<string, unknown>, options: CallOptions): Promise<RawResult>
  /** Settles when the server is gone, whoever ended it. */
  closed: Promise<void>
  close(): Promise<void>
}

export type ConnectOptions = {
  alias: string
  transport: Transport
  /** `auto` asks which era the server speaks; the others know already. */
  mode: 'auto' | Era
  timeoutMs: number
  signal?: AbortSignal | undefined
  onListChanged?: (() => void) | undefined
  /** The last of what the server printed, for whoever has to find out why it does not answer. */
  lastWords?: (() => string) | undefined
}

const MODERN = '2026-07-28'
/** How long a program is asked which era it speaks. One that says nothing is taken for an older one, as many are silent. */
const PROBE_MS = 2_000
const MAX_PAGES = 64
const MAX_TOOLS = 4096

/** Shakes hands with a server. No tool of it is known yet, and none may be called before the list was verified. */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { alias, transport, mode, timeoutMs, signal, onListChanged = () => {}, lastWords = () => '' } = options
  const isRemote = transport instanceof StreamableHTTPClientTransport
  const client = new Client(
    { name: 'matrix', version: '0.1.0' },
    {
      // Silence means an older program on a pipe, but an outage on a network, where there is nothing to be quick about.
      versionNegotiation: {
        mode: mode === 'modern' ? { pin: MODERN } : mode,
        probe: isRemote || mode !== 'auto' ? {} : { timeoutMs: Math.min(PROBE_MS, timeoutMs) },
      },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
    },
  )
  const closed = new Promise<void>((done) => {
    client.onclose = done
  })
  // What arrives out of turn is dropped by the SDK; whether it amounts to an attack is for the guard to say.
  client.onerror = () => {}
  const failure = (error: unknown, limitMs: number) => explainFailure(error, { alias, limitMs, lastWords, signal })
  try {
    await within(timeoutMs, signal, client.connect(transport, { timeout: timeoutMs }))
  } catch (error) {
    // Nobody waits for one that was given up to end. While it is asked for its era, the client does not know its transport yet.
    void client.close().catch(() => {})
    void transport.close().catch(() => {})
    throw failure(error, timeoutMs)
  }

  return {
    era: client.getProtocolEra() ?? 'legacy',
    closed,
    close: () => client.close(),
    listTools: (call) =>
      listTools(client, alias, call)
        .then(checkDepth)
        .catch((error) => fail(error, call.timeoutMs, call.signal)),
    callTool(tool, input, call) {
      if (isRemote && client.getProtocolEra() === 'modern') assertMirrored(alias, tool)
      const { limit, signal: caller } = call
      const run = call.isBuiltin ? callBuiltin : callTool
      const start = performance.now()
      const limitMs = () => (performance.now() - start < limit.totalMs ? limit.silentMs : limit.totalMs)
      return run(client, tool, input, call)
        .then(checkDepth)
        .catch((error) => fail(error, limitMs(), caller))
    },
  }

  function checkDepth<Answer>(answer: Answer): Answer {
    if (isTooDeep(answer)) throw new MatrixError('TOOL_FAILED', `"${alias}" answered with what is nested without end.`)
    return answer
  }

  function fail(error: unknown, limitMs: number, caller: AbortSignal | undefined): never {
    throw explainFailure(error, { alias, limitMs, lastWords, signal: caller })
  }
}

/** The era in which a program has to be started again: it ended when asked for it, or it was too slow to say so. */
export function findOtherEra({ cause }: MatrixError): Era | undefined {
  if (cause instanceof SdkError && cause.code === SdkErrorCode.EraNegotiationFailed) return 'legacy'
  return cause instanceof UnsupportedProtocolVersionError ? 'modern' : undefined
}

/** A server that is told in headers what others on the way may read has to say properly in which. */
function assertMirrored(alias: string, { name, inputSchema }: ToolSurface): void {
  const fault = findHeaderFault(inputSchema)
  if (fault === undefined) return
  throw new MatrixError('TOOL_FAILED', `"${alias}" wants an argument of "${name}" in a header. ${fault}`, {
    hint: 'Only the author of the server can repair this.',
  })
}

/** A transport may hang before the SDK starts its own clock, or listens to anybody. */
async function within<Value>(timeoutMs: number, signal: AbortSignal | undefined, work: Promise<Value>): Promise<Value> {
  let clock: NodeJS.Timeout | undefined
  let giveUp = () => {}
  const ending = new Promise<never>((_, fail) => {
    clock = setTimeout(() => fail(new SdkError(SdkErrorCode.RequestTimeout, 'Connecting took too long')), timeoutMs)
    giveUp = () => fail(new Error('Nobody waits for it any more'))
    if (signal?.aborted) giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
  })
  return Promise.race([work, ending]).finally(() => {
    clearTimeout(clock)
    signal?.removeEventListener('abort', giveUp)
  })
}

async function listTools(client: Client, alias: string, { timeoutMs, signal }: ListOptions): Promise<ToolList> {
  const tools: ToolSurface[] = []
  let cursor: string | undefined
  let ttlMs: number | undefined
  if (!client.getServerCapabilities()?.tools) return { tools, ttlMs }
  const deadline = performance.now() + timeoutMs
  for (let page = 0; page < MAX_PAGES; page += 1) {
    // The SDK's own list drops tools and prints about it; what is verified is what the server said.
    const answer = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      ToolPage,
      { timeout: Math.max(1, deadline - performance.now()), ...(signal && { signal }) },
    )
    tools.push(...answer.tools)
    if (answer.ttlMs !== undefined) ttlMs = Math.min(ttlMs ?? answer.ttlMs, answer.ttlMs)
    if (tools.length > MAX_TOOLS) break
    if (answer.nextCursor === undefined || answer.nextCursor === '') return { tools, ttlMs }
    cursor = answer.nextCursor
  }
  throw new MatrixError('TOOL_DRIFT', `"${alias}" lists tools without end: more than ${tools.length} by now.`, {
    hint: 'Only the author of the server can repair this.',
  })
}

function callTool(
  client: Client,
  tool: ToolSurface,
  input: Record<string, unknown>,
  { limit, signal, onProgress = () => {}, meta }: CallOptions,
): Promise<RawResult> {
  const params = { name: tool.name, arguments: input, ...(meta && { _meta: meta }) }
  const options = {
    timeout: limit.silentMs,
    maxTotalTimeout: limit.totalMs,
    // A server only reports progress to those who listen.
    resetTimeoutOnProgress: true,
    onprogress: onProgress,
    ...(signal && { signal }),
  }
  // Answers are not held against the server's own output schema: its patterns would run in our process.
  if (client.getProtocolEra() !== 'modern') return client.request({ method: 'tools/call', params }, RawResult, options)
  const { outputSchema: _unused, ...definition } = tool
  return client.callTool(params, {
    ...options,
    toolDefinition: definition as unknown as NonNullable<Parameters<Client['callTool']>[1]>['toolDefinition'] & object,
  }) as Promise<RawResult>
}

/** How long Matrix's own server may take to end a call and answer with what it has. */
const ENDING_MS = 2500

/** A call that is asked to end when it is given up or takes too long, and is cancelled only when it then does not. */
async function callBuiltin(
  client: Client,
  tool: ToolSurface,
  input: Record<string, unknown>,
  call: CallOptions,
): Promise<RawResult> {
  const id = randomUUID()
  const giveUp = new AbortController()
  let patience: NodeJS.Timeout | undefined
  const end = () => {
    patience ??= setTimeout(() => giveUp.abort(), ENDING_MS)
    client.notification({ method: END_CALL, params: { call: id } }).catch(() => giveUp.abort())
  }
  const clock = setTimeout(end, call.limit.totalMs)
  call.signal?.addEventListener('abort', end, { once: true })
  try {
    const limit = totalLimit(call.limit.totalMs + 2 * ENDING_MS)
    return await callTool(client, tool, input, {
      ...call,
      limit,
      signal: giveUp.signal,
      meta: { ...call.meta, [CALL_META]: id },
    })
  } catch (error) {
    throw giveUp.signal.aborted && !call.signal?.aborted ? timeUp(error) : error
  } finally {
    clearTimeout(clock)
    clearTimeout(patience)
    call.signal?.removeEventListener('abort', end)
  }
}

function timeUp(cause: unknown): SdkError {
  return new SdkError(SdkErrorCode.RequestTimeout, 'The call took too long', { cause })
}

type FailureContext = {
  alias: string
  limitMs: number
  signal: AbortSignal | undefined
  lastWords: () => string
}

function explainFailure(error: unknown, { alias, limitMs, signal, lastWords }: FailureContext): MatrixError {
  if (error instanceof MatrixError) return error
  const options = { cause: error }
  if (signal?.aborted)
    return new MatrixError('TOOL_CANCELLED', `The call to "${alias}" was cancelled while it ran.`, {
      ...options,
      hint: 'Whether it had an effect is not known.',
    })
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new MatrixError('TOOL_TIMEOUT', `"${alias}" did not answer within ${limitMs} ms.`, {
      ...options,
      hint: 'Whether the call had an effect is not known. A longer limit is set by timeout_ms in the manifest or toolTimeoutMs in the settings.',
    })
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return new MatrixError(
      'TOOL_FAILED',
      `"${alias}" answered with what is no result: ${brief(error.message)}`,
      options,
    )
  if (error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType)
    return new MatrixError('TOOL_FAILED', `"${alias}" asks a person for input, which agents cannot give.`, options)
  if (error instanceof SdkHttpError && (error.status === 401 || error.status === 403))
    return new MatrixError('SERVER_UNAVAILABLE', `"${alias}" refuses the credentials (HTTP ${error.status}).`, {
      ...options,
      hint: 'Check the environment variables that its headers refer to.',
    })
  if (error instanceof ProtocolError)
    return new MatrixError('TOOL_FAILED', `"${alias}" refused the call: ${brief(error.message)}`, options)
  const words = brief(tellingLine(lastWords()))
  const reason = words ? `It said: ${words}` : brief(error instanceof Error ? error.message : String(error))
  return new MatrixError('SERVER_UNAVAILABLE', `"${alias}" is not there. ${reason}`, options)
}

/** Of what a program prints when it dies, the line that says why; the stack below it says where in somebody else's code. */
function tellingLine(words: string): string {
  const lines = words.split('\n').map((line) => line.trim())
  return (
    lines.findLast((line) =>
      /^(?:\w*(?:Error|Exception)\b.*:|bwrap:|.*\b(?:error|failed|cannot|missing)\b)/i.test(line),
    ) ?? lines.filter(Boolean).slice(-2).join(' ')
  )
}

function brief(text: string): string {
  return printableLine(text.length > 400 ? `${text.slice(0, 400)}…` : text)
}
