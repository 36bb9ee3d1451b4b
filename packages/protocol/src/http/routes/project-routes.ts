import * as z from 'zod'
import { ProjectView } from '../project.ts'
import { route } from '../route.ts'
import { SetupChoice, SetupView } from '../setup.ts'
import { folderPath, inProject } from './fields.ts'

export const projectRoutes = {
  listProjects: route('GET /api/projects', 'projects', 'All projects', { response: z.array(ProjectView) }),
  registerProject: route('POST /api/projects', 'projects', 'Adds a repository', {
    body: z.object({
      path: folderPath,
      name: z.string().trim().min(1).max(200).optional(),
      setup: SetupChoice.optional().describe('What is decided about its setup; left out, the inbox asks'),
    }),
    response: ProjectView,
  }),
  getSetup: route(
    'GET /api/projects/:projectId/setup',
    'projects',
    'What a new worktree needs: found, proposed, decided',
    {
      params: inProject,
      response: SetupView,
    },
  ),
  decideSetup: route(
    'PUT /api/projects/:projectId/setup',
    'projects',
    'Decides what runs in every new worktree; tasks that waited for it resume',
    { params: inProject, body: SetupChoice, response: SetupView },
  ),
  updateProject: route('PATCH /api/projects/:projectId', 'projects', 'Renames a project, or says where it has moved', {
    params: inProject,
    body: z.object({ path: folderPath.optional(), name: z.string().trim().min(1).max(200).optional() }),
    response: ProjectView,
  }),
  deregisterProject: route('DELETE /api/projects/:projectId', 'projects', 'Forgets a project; its data stays on disk', {
    params: inProject,
  }),
} as const
