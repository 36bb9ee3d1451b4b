import * as z from 'zod'
import { route } from '../route.ts'
import { SkillDetail, SkillView } from '../skill.ts'
import { inProject, reference } from './fields.ts'

const ofSkill = inProject.extend({ name: reference(64) })

export const skillRoutes = {
  listSkills: route('GET /api/projects/:projectId/skills', 'skills', 'The skills of the user and the repository', {
    params: inProject,
    response: z.array(SkillView),
  }),
  getSkill: route('GET /api/projects/:projectId/skills/:name', 'skills', 'One skill with all its files', {
    params: ofSkill,
    response: SkillDetail,
  }),
  approveSkill: route('POST /api/projects/:projectId/skills/:name/approve', 'skills', 'Approves exactly these files', {
    params: ofSkill,
    body: z.object({ digest: z.string().max(100) }),
    response: SkillView,
  }),
} as const
