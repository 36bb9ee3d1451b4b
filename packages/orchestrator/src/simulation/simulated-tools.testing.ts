import type { Grant, SideEffect } from '@matrix/manifest'
import type { Origin } from '@matrix/protocol'
import type { AgentTools, ToolCallContext, ToolHost } from '../tool-host.ts'
import type { Mortal } from './mortal.testing.ts'
import type { Outside } from './outside.testing.ts'

export type SimulatedToolsOptions = {
  outside: Outside
  now(): number
  /** Takes in commands that were left running, by the task that started them; called, they end. */
  background: Map<string, () => void>
  /** Takes in what ends the wait for an approval. */
  expiries: Set<AbortController>
  plant(tools: AgentTools): AgentTools
}

/** One tool, `bash`, whose commands write files, ask, hang, read the web or leave a mark. */
export function simulateTools(
  { step }: Mortal,
  { outside, now, background, expiries, plant }: SimulatedToolsOptions,
): ToolHost {
  const run = async (taskId: string, command: string, { callId, signal, enter }: ToolCallContext): Promise<string> => {
    const leave = await enter?.()
    try {
      if (command === 'hang')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
      return await step('bash', () => {
        const [, path, words] = /^write (\S+) (.*)$/.exec(command) ?? []
        outside.effects.push({ taskId, callId })
        if (path && words) outside.worktrees.get(taskId)?.files.set(path, words)
        return `did: ${command}`
      })
    } finally {
      leave?.()
    }
  }

  const open: ToolHost['open'] = async (request) => {
    const { taskId } = request
    let isClosed = false
    const tools: AgentTools = {
      specs: async () => [bashSpec],
      async call(_name, input, context) {
        const { callId, signal } = context
        const command = String(input.command)
        if (command.startsWith('ask')) {
          const expiry = new AbortController()
          expiries.add(expiry)
          const either = AbortSignal.any([signal, expiry.signal])
          const answer = await request.approve(approvalOf(callId, command, now()), { signal: either })
          if (answer.decision === 'deny') return { content: [{ type: 'text', text: 'denied' }], isError: true }
        }
        const text = await run(taskId, command, context)
        if (signal.aborted) throw signal.reason
        const origin = command.startsWith('curl') ? { origin: webOrigin } : {}
        if (input.background !== true) return { content: [{ type: 'text', text }], isError: false, ...origin }
        const process = { processId: 'p1', command }
        const onEnd = request.onBackgroundStart(callId, { ...process, read: async () => '', kill: async () => {} })
        background.set(taskId, () => {
          // Nothing outlives the tools that started it, and nobody hears of it from them.
          if (!isClosed) onEnd({ ...process, exitCode: 0, output: 'all green' })
        })
        const content = [{ type: 'text' as const, text: 'Started in the background as p1.' }]
        return { content, isError: false, background: { processId: process.processId } }
      },
      allows: () => true,
      uriOf: (name) => `matrix://tool/${name}@1`,
      isHeavy: () => true,
      view: async () => ({}) as never,
      park: async () => {},
      async close() {
        isClosed = true
      },
    }
    return plant(tools)
  }
  return { open, adopt: async () => {} }
}

export function simulateGrant(rights: SideEffect[] = ['read', 'write', 'shell']): Grant {
  return { manifest: { schema_version: 1, agent: 'matrix://agent/solo', allowed_side_effects: rights, servers: [] } }
}

function approvalOf(id: string, command: string, now: number) {
  return {
    id,
    agent: 'solo',
    uri: 'matrix://tool/mcp/mxd/bash@1',
    side_effect_class: 'shell' as const,
    input: { command },
    inputDigest: `digest of ${command}`,
    reason: 'It asks.',
    expiresAt: now + 60_000,
  }
}

const webOrigin: Origin = { source: 'web', trusted: false, hosts: ['evil.example:443'] }

const bashSpec = {
  name: 'mcp__mxd__bash',
  description: 'Runs a command.',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } } },
}
