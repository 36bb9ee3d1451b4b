import * as z from 'zod'
import { route } from '../route.ts'

export const systemRoutes = {
  health: route('GET /health', 'system', 'Whether the daemon is alive', {
    access: 'open',
    response: z.object({ ok: z.literal(true), version: z.string() }),
  }),
  ready: route('GET /ready', 'system', 'Whether every session has been resumed and work is taken', {
    access: 'open',
    response: z.object({ ready: z.boolean() }),
  }),
  getStatus: route('GET /api/status', 'system', 'What runs here, since when, and on what', {
    response: z.object({
      version: z.string(),
      pid: z.number().int(),
      startedAt: z.iso.datetime(),
      dataDirectory: z.string(),
      sandbox: z.object({ isActive: z.boolean(), reason: z.string().nullable() }),
      agents: z.object({ live: z.number().int(), working: z.number().int() }),
      provider: z.object({ kind: z.enum(['mock', 'configured', 'missing']), model: z.string().nullable() }),
    }),
  }),
} as const
