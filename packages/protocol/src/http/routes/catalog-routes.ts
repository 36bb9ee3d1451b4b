import * as z from 'zod'
import { AgentProposalView, AgentToAdd, AgentView, NewAgentFile } from '../agent-view.ts'
import { ProjectId } from '../project.ts'
import { route } from '../route.ts'

export const catalogRoutes = {
  listAgents: route('GET /api/agents', 'agents', 'The agents that tasks can name, and where each comes from', {
    query: z.object({ projectId: ProjectId.optional() }),
    response: z.array(AgentView),
  }),
  proposeAgent: route(
    'POST /api/agents/proposals',
    'agents',
    'Reads an agent file of any format, pins its servers, and answers what the agent may do',
    { body: NewAgentFile, response: AgentProposalView },
  ),
  addAgent: route('POST /api/agents', 'agents', 'Adds an agent exactly as it was proposed', {
    body: AgentToAdd,
    response: AgentView,
  }),
} as const
