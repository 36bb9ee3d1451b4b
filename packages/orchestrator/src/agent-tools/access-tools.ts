import { digestValue } from '@matrix/manifest'
import { MatrixError, orchestratorTools as names } from '@matrix/protocol'
import { isHostCovered } from '@matrix/tool-manager'
import * as z from 'zod'
import { askForApproval } from '../approvals.ts'
import { reachableHosts } from '../flow-question.ts'
import { parseHostEntry } from '../host-access.ts'
import { idForCall } from './call-id.ts'
import { ownTool } from './own-tool.ts'

/** An answer that takes a weekend is still an answer. */
const PATIENCE_MS = 365 * 24 * 3600 * 1000

const allowedFor = { once: 'for 10 minutes', task: 'for this task', always: 'for this project' } as const

export const accessTools = [
  ownTool({
    name: names.requestAccess,
    description:
      'Asks the user to let commands reach a host on the network, and waits for the answer. Use it when the result of a command says that a host was refused and the work needs it.',
    sideEffect: 'network',
    input: z.object({
      host: z.string().trim().min(1).max(300).describe('Such as registry.example.com or db.example.com:5432.'),
      why: z.string().trim().min(1).max(1000).describe('What it is needed for, in a sentence, for the user.'),
    }),
    async run(ctx, agent, { host: given, why }, callId) {
      const host = parseHostEntry(given)
      const { untrusted = [] } = ctx.tree.get(agent.taskId)
      if (isHostCovered(await reachableHosts(ctx, agent.taskId), host)) return `${host} is allowed already.`
      const input = { host, why }
      const answer = await askForApproval(
        ctx,
        agent.taskId,
        {
          id: `access-${idForCall(agent, callId)}`,
          uri: names.requestAccess,
          side_effect_class: 'network',
          input,
          inputDigest: digestValue(input),
          reason: why,
          expiresAt: ctx.world.clock.now() + PATIENCE_MS,
          host,
          ...(untrusted.length > 0 && { led: untrusted }),
        },
        { signal: agent.abort.signal, holdsUp: (one) => one === agent },
      )
      if (agent.abort.signal.aborted) throw new MatrixError('TOOL_CANCELLED', 'The agent was stopped')
      if (answer.decision === 'deny')
        return `${host} was denied${answer.reason ? `: ${answer.reason}` : '.'} Do without it, and say at the end what could not be done.`
      await ctx.hosts.allow(agent.taskId, host, answer.scope)
      return `${host} is allowed ${allowedFor[answer.scope]}. Run the command again.`
    },
  }),
]
