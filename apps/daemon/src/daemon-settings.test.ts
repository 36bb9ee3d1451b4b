import type { ConfigEntry } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { readDaemonSettings } from './daemon-settings.ts'

test('the settings name the port, further hosts, how long a browser stays signed in, and whether to count', async () => {
  const found = await readDaemonSettings(
    holding({ port: 8000, 'auth.allowedHosts': ['box:9000'], 'auth.sessionIdleMs': 1000, 'telemetry.metrics': true }),
  )

  expect(found).toEqual({ port: 8000, names: ['box:9000'], hasMetrics: true, sessionLimits: { idleMs: 1000 } })
})

test('what is not set, or is not what it should be, is left to the daemon', async () => {
  expect(await readDaemonSettings(holding({ auth: {}, port: 'eighty' }))).toEqual({
    port: undefined,
    names: [],
    hasMetrics: false,
    sessionLimits: {},
  })
})

function holding(values: Record<string, unknown>) {
  const rest = { isSecret: false, origin: 'global', file: null, line: null, description: '', settableIn: [] } as const
  const entries = Object.entries(values).map(([key, value]): ConfigEntry => ({ key, value, ...rest, settableIn: [] }))
  return { readConfig: async () => ({ entries, problems: [] }) }
}
