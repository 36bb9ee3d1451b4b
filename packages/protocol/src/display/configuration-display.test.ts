import { expect, test } from 'vitest'
import type { SessionConfiguration } from '../http/configuration.ts'
import { describeCacheCost, describeChanges } from './configuration-display.ts'

const current = { provider: 'anthropic', model: 'a', tools: ['x', 'y'] }
const offered = { provider: 'anthropic', model: 'b', tools: ['x', 'z'] }
const changes = { model: true, prompt: true, addedTools: ['z'], removedTools: ['y'], changedTools: [] }
const configuration: SessionConfiguration = {
  ...{ current, offered, changes },
  isRequested: false,
  cache: { tokens: 12_400, usd: 0.042 },
}

test('each difference is named, and what it costs to take it', () => {
  expect(describeChanges(configuration)).toEqual([
    'model a → b',
    'another system prompt',
    'adds 1 tool (z)',
    'removes 1 tool (y)',
  ])
  expect(describeCacheCost(configuration)).toBe(
    'The provider reads 12k tokens anew instead of from its cache: at most $0.0420 once.',
  )
  expect(describeCacheCost({ ...configuration, cache: { tokens: 5, usd: null } })).toContain('its cost is unknown')
  expect(describeChanges({ ...configuration, current: null })).toEqual([])
})
