import * as z from 'zod'
import { ConfigLayer, ConfigView } from '../config-view.ts'
import { ProjectId } from '../project.ts'
import { route } from '../route.ts'
import { reference } from './fields.ts'

export const configRoutes = {
  readConfig: route('GET /api/config', 'config', 'All settings and where each comes from', {
    query: z.object({ projectId: ProjectId.optional() }),
    response: ConfigView,
  }),
  setConfig: route('PUT /api/config/:layer/:key', 'config', 'Sets one value in one layer', {
    params: z.object({ layer: ConfigLayer, key: reference(200) }),
    query: z.object({ projectId: ProjectId.optional() }),
    body: z.object({ value: z.unknown() }),
    response: ConfigView,
  }),
  unsetConfig: route('DELETE /api/config/:layer/:key', 'config', 'Takes one value out of one layer', {
    params: z.object({ layer: ConfigLayer, key: reference(200) }),
    query: z.object({ projectId: ProjectId.optional() }),
    response: ConfigView,
  }),
} as const
