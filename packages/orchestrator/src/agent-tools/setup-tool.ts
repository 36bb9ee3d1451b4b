import { orchestratorTools as names } from '@matrix/protocol'
import * as z from 'zod'
import { ensureTarget } from '../launch.ts'
import { awaitDecision } from '../setup/setup.ts'
import { rerunSetup } from '../setup/setup-run.ts'
import { ownTool } from './own-tool.ts'

export const setupTool = ownTool({
  name: names.rerunSetup,
  description:
    'Runs the setup of this project again in your worktree: the script that the user approved. For when dependencies changed or node_modules and the like are gone.',
  sideEffect: 'shell',
  input: z.object({}),
  async run(ctx, agent) {
    const { signal } = agent.abort
    const decision = await awaitDecision(ctx)
    const baseBranch = await ensureTarget(ctx, ctx.tree.get(agent.taskId), signal)
    return rerunSetup(ctx, decision, { taskId: agent.taskId, baseBranch, signal })
  },
})
