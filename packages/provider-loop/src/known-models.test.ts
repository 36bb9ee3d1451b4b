import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { defaultModels, type ModelProvider, nearestModels, newestModel, pricedModels } from './known-models.ts'

const sdks = {
  anthropic: { name: '@anthropic-ai/sdk', file: 'resources/messages/messages.d.ts', type: 'Model' },
  openai: { name: 'openai', file: 'resources/shared.d.ts', type: 'ChatModel' },
} as const

test.each(Object.keys(sdks) as ModelProvider[])(
  'the default model of %s is the newest of its family that the installed price table and SDK know',
  async (provider) => {
    const known = sdkModels(provider)
    const both = (await pricedModels(provider)).filter((model) => known.includes(model))

    expect(known.length).toBeGreaterThan(10)
    expect(defaultModels[provider]).toBe(newestModel(provider, both))
  },
)

test('the newest model is found by its version, and sizes, dates and other families are none', () => {
  expect(
    newestModel('anthropic', ['claude-sonnet-4-6', 'claude-sonnet-10', 'claude-opus-11', 'claude-sonnet-9-9']),
  ).toBe('claude-sonnet-10')
  expect(newestModel('openai', ['gpt-5.10', 'gpt-5.9-sol', 'gpt-6-luna', 'gpt-5.11-mini', 'gpt-4.1-2025-04-14'])).toBe(
    'gpt-5.10',
  )
  expect(newestModel('openai', ['claude-sonnet-5'])).toBeUndefined()
})

test('models are named by how much they begin like the one that was asked for', () => {
  expect(nearestModels('claude-sonet-5', ['gpt-5', 'claude-opus-5', 'claude-sonnet-5'], 2)).toEqual([
    'claude-sonnet-5',
    'claude-opus-5',
  ])
})

/** The names in the type of the installed SDK: they exist in its declarations only. */
function sdkModels(provider: ModelProvider): string[] {
  const { name, file, type } = sdks[provider]
  const folder = dirname(createRequire(import.meta.url).resolve(name))
  const [, union = ''] =
    new RegExp(`export type ${type} = ([^;]+);`).exec(readFileSync(join(folder, file), 'utf8')) ?? []
  return [...union.matchAll(/'([^']+)'/g)].map(([, model = '']) => model)
}
