import * as z from 'zod'
import { Forward, ListedHost, Port } from '../network.ts'
import { ProjectId } from '../project.ts'
import { route } from '../route.ts'
import { inProject, ofTask, reference } from './fields.ts'

const host = z.string().trim().min(1).max(300)

export const networkRoutes = {
  listHosts: route('GET /api/hosts', 'network', 'The hosts that commands in the sandbox reach', {
    query: z.object({ projectId: ProjectId.optional() }),
    response: z.array(ListedHost),
  }),
  addHost: route('POST /api/hosts', 'network', 'Adds a host, for one project or for all', {
    query: z.object({ projectId: ProjectId.optional() }),
    body: z.object({ host }),
    response: z.array(ListedHost),
  }),
  removeHost: route('DELETE /api/hosts', 'network', 'Removes a host, for one project or for all', {
    query: z.object({ projectId: ProjectId.optional(), host }),
    response: z.array(ListedHost),
  }),
  listForwards: route('GET /api/projects/:projectId/forwards', 'network', 'The ports that are forwarded', {
    params: inProject,
    response: z.array(Forward),
  }),
  openForward: route(
    'POST /api/projects/:projectId/tasks/:taskId/forwards',
    'network',
    "Forwards a port of a task's sandbox to the loopback of this machine",
    { params: ofTask, body: z.object({ port: Port, to: Port.optional() }), response: Forward },
  ),
  closeForward: route('DELETE /api/projects/:projectId/forwards/:forwardId', 'network', 'Ends a forwarded port', {
    params: inProject.extend({ forwardId: reference(100) }),
  }),
} as const
