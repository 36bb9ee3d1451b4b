import type { Orchestrator } from '@matrix/orchestrator'
import * as z from 'zod'

const Values = z.object({
  port: z.number().optional().catch(undefined),
  'auth.sessionIdleMs': z.number().optional().catch(undefined),
  'auth.sessionMaxMs': z.number().optional().catch(undefined),
  'telemetry.metrics': z.boolean().optional().catch(undefined),
  'auth.allowedHosts': z.array(z.string()).optional().catch(undefined),
})

export type DaemonSettings = {
  port: number | undefined
  names: string[]
  /** Whether what happens is counted. */
  hasMetrics: boolean
  sessionLimits: { idleMs?: number; maxMs?: number }
}

/** What the settings say about the daemon itself. They hold from its next start on. */
export async function readDaemonSettings(orchestrator: Pick<Orchestrator, 'readConfig'>): Promise<DaemonSettings> {
  const { entries } = await orchestrator.readConfig({ params: {}, query: {}, body: undefined })
  const values = Values.parse(Object.fromEntries(entries.map(({ key, value }) => [key, value])))
  const { 'auth.sessionIdleMs': idleMs, 'auth.sessionMaxMs': maxMs } = values
  return {
    port: values.port,
    names: values['auth.allowedHosts'] ?? [],
    hasMetrics: values['telemetry.metrics'] ?? false,
    sessionLimits: { ...(idleMs === undefined ? {} : { idleMs }), ...(maxMs === undefined ? {} : { maxMs }) },
  }
}
