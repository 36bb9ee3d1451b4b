import { expect, test } from 'vitest'
import { addSample, burnRate, type CostRow, splitCosts, toDays, toModels } from './spending.ts'

test('days come without a gap, oldest first, each with its models', () => {
  const days = toDays(
    [row('2026-03-01', 'a', 2), row('2026-03-01', 'b', 3), row('2026-02-27', 'a', 1)],
    '2026-03-01',
    4,
  )

  expect(days).toEqual([
    { day: '2026-02-26', usd: 0, models: [] },
    { day: '2026-02-27', usd: 1, models: [{ model: 'a', usd: 1 }] },
    { day: '2026-02-28', usd: 0, models: [] },
    {
      day: '2026-03-01',
      usd: 5,
      models: [
        { model: 'b', usd: 3 },
        { model: 'a', usd: 2 },
      ],
    },
  ])
})

test('what a script made up is kept apart from what was paid', () => {
  const paid = row('2026-03-01', 'claude-sonnet-4-6', 2)
  const simulated = row('2026-03-01', 'claude-sonnet-4-6-simulated', 3)

  expect(splitCosts([paid, simulated])).toEqual({ paid: [paid], simulated: [simulated] })
})

test('a model that several projects asked is one model', () => {
  const rows = toModels([row('', 'a', 2), row('', 'b', 4), row('', 'a', 3)])

  expect(rows.map(({ model, usd }) => [model, usd])).toEqual([
    ['a', 5],
    ['b', 4],
  ])
})

test('the burn rate is what was seen, and nothing is guessed from a moment', () => {
  const samples = [
    { at: 0, usd: 1 },
    { at: 60_000, usd: 1.5 },
  ]

  expect(burnRate(samples)).toBeCloseTo(30)
  expect(burnRate([{ at: 0, usd: 1 }])).toBeUndefined()
  expect(
    burnRate([
      { at: 0, usd: 1 },
      { at: 5000, usd: 9 },
    ]),
  ).toBeUndefined()
})

test('only the last minutes count, and a total that shrinks starts anew', () => {
  expect(addSample([{ at: 0, usd: 1 }], { at: 700_000, usd: 2 })).toEqual([{ at: 700_000, usd: 2 }])
  expect(addSample([{ at: 0, usd: 5 }], { at: 1000, usd: 2 })).toEqual([{ at: 1000, usd: 2 }])
})

const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

function row(day: string, model: string, usd: number): CostRow {
  return { day, model, usd, turns: 0, unpricedTurns: 0, workMs: 0, ...noTokens }
}
