import { randomUUID } from 'node:crypto'
import { digestValue, formatToolUri, type SideEffect } from '@matrix/manifest'
import type { UntrustedSource } from '@matrix/protocol'
import type { ResolvedTool } from './registry.ts'

/** What a person is asked. `inputDigest` is what their answer is bound to. */
export type ApprovalRequest = {
  id: string
  agent: string
  uri: string
  side_effect_class: SideEffect
  input: unknown
  inputDigest: string
  reason: string
  expiresAt: number
  /** Whether a user may allow this tool with any arguments. Absent for shells and for everything that is no call. */
  mayAllowAny?: true
  /** Where untrusted content came from that was read before, if that is why the user is asked. */
  led?: UntrustedSource[]
}

/** `once` is this call, `task` for as long as the agent works on its task, `always` until the user revokes it. */
export type ApprovalScope = 'once' | 'task' | 'always'

export type ApprovalAnswer = { decision: 'deny'; reason?: string } | ApprovalGiven

/** Holds for the arguments that were shown, at every scope, unless the user says that it holds for any. */
export type ApprovalGiven = {
  decision: 'allow'
  scope: ApprovalScope
  id: string
  inputDigest: string
  anyArguments?: boolean | undefined
}

/** Asks a person, wherever they are. Where there is none to ask, there is no port, and nothing that needs one runs. */
export type ApprovalPort = (request: ApprovalRequest, options: { signal: AbortSignal }) => Promise<ApprovalAnswer>

/** Where "always" is kept. */
export type ApprovalMemory = { has(key: string): boolean; add(key: string): void }

export type Approvals = {
  /** Undefined when approved; otherwise why not. */
  ask(question: ApprovalQuestion): Promise<string | undefined>
}

export type ApprovalQuestion = {
  agent: string
  tool: ResolvedTool
  input: Record<string, unknown>
  reason: string
  led?: UntrustedSource[] | undefined
  signal?: AbortSignal | undefined
}

export type ApprovalOptions = {
  port?: ApprovalPort | undefined
  always?: ApprovalMemory | undefined
  expiresMs?: number | undefined
}

const EXPIRES_MS = 10 * 60 * 1000

/** The approvals of one task. */
export function openApprovals({ port, always, expiresMs = EXPIRES_MS }: ApprovalOptions): Approvals {
  const forTask = new Set<string>()

  return {
    async ask({ agent, tool, input, reason, led, signal }) {
      // A yes that was given before untrusted content was read, or to any arguments, says nothing about what came of it.
      const keys = led
        ? { shown: shownKey(agent, tool, { input, led: true }) }
        : { shown: shownKey(agent, tool, input), any: anyKey(agent, tool) }
      if (Object.values(keys).some((key) => forTask.has(key) || always?.has(key))) return undefined
      if (!port) return 'No user to ask.'
      const mayAllowAny = tool.tool.side_effect_class !== 'shell' && !led

      const request: ApprovalRequest = {
        id: randomUUID(),
        agent,
        uri: formatToolUri(tool.uri),
        side_effect_class: tool.tool.side_effect_class,
        // A copy: what the person saw is what was hashed, whatever the caller does to its own.
        input: structuredClone(input),
        inputDigest: digestValue(input),
        reason,
        expiresAt: Date.now() + expiresMs,
        ...(mayAllowAny && { mayAllowAny }),
        ...(led && { led }),
      }
      const answer = await answerOf(port, request, expiresMs, signal)
      if (answer.decision === 'deny') return answer.reason ?? 'The user denied it.'
      if (answer.id !== request.id || answer.inputDigest !== request.inputDigest)
        return 'The answer belongs to another question.'
      if (digestValue(input) !== request.inputDigest) return 'The arguments changed while the question was open.'
      if (answer.anyArguments && !mayAllowAny) return 'This call is never allowed with any arguments.'
      const key = answer.anyArguments && keys.any ? keys.any : keys.shown
      if (answer.scope === 'task') forTask.add(key)
      if (answer.scope === 'always') always?.add(key)
      return undefined
    },
  }
}

async function answerOf(
  port: ApprovalPort,
  request: ApprovalRequest,
  expiresMs: number,
  signal: AbortSignal | undefined,
): Promise<ApprovalAnswer> {
  const expiry = AbortSignal.timeout(expiresMs)
  const either = signal ? AbortSignal.any([signal, expiry]) : expiry
  const given = new Promise<ApprovalAnswer>((done) => {
    either.addEventListener('abort', () => done({ decision: 'deny', reason: 'The user did not answer in time.' }), {
      once: true,
    })
  })
  const failed = (error: unknown): ApprovalAnswer => ({ decision: 'deny', reason: `Asking failed: ${String(error)}` })
  return Promise.race([port(request, { signal: either }).catch(failed), given])
}

function shownKey(agent: string, { uri }: ResolvedTool, input: unknown): string {
  return digestValue({ agent, uri: formatToolUri(uri), input: digestValue(input) })
}

function anyKey(agent: string, { uri }: ResolvedTool): string {
  return digestValue({ agent, uri: formatToolUri(uri), arguments: 'any' })
}
