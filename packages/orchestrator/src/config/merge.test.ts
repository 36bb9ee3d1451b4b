import type { ConfigLayer } from '@matrix/protocol/http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type LayerValues, mergeLayers } from './merge.ts'

const names: ConfigLayer[] = ['global', 'repo', 'local']
const values = fc.record(
  {
    model: fc.constantFrom('a', 'b'),
    sandbox: fc.constantFrom('auto', 'off'),
    budgetUsd: fc.nat(5),
    maxDepth: fc.integer({ min: 1, max: 9 }),
    deny: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
    mcpServers: fc.dictionary(fc.constantFrom('s', 't'), fc.record({ command: fc.constantFrom('1', '2') })),
  },
  { requiredKeys: [] },
)
const layers = fc
  .tuple(values, values, values)
  .map((each) => each.map((part, index) => ({ layer: names[index] as ConfigLayer, values: part })))

test('a scalar is that of the highest layer that has it', () => {
  check((all, merged) => {
    const highest = all.findLast((each) => each.values.model !== undefined)
    expect(merged.values.get('model')).toEqual(
      highest && { layer: highest.layer, value: (highest.values as { model: string }).model },
    )
  })
})

test('named entries are a union, each whole from the highest layer that has it', () => {
  check((all, merged) => {
    for (const name of ['s', 't']) {
      const highest = all.findLast((each) => entries(each)[name] !== undefined)
      expect(merged.values.get(`mcpServers.${name}`)).toEqual(
        highest && { layer: highest.layer, value: entries(highest)[name] },
      )
    }
  })
})

test('every denial of every layer is in force', () => {
  check((all, merged) => {
    const wanted = new Set(all.flatMap((each) => (each.values.deny ?? []) as string[]))
    expect(new Set((merged.values.get('deny')?.value ?? []) as string[])).toEqual(wanted)
  })
})

test('a repository never raises a limit, with or without one of its user', () => {
  check((all, merged) => {
    const withoutRepo = mergeLayers(all.filter(({ layer }) => layer !== 'repo'))
    for (const [key, byDefault] of [
      ['budgetUsd', Number.POSITIVE_INFINITY],
      ['maxDepth', 5],
    ] as const) {
      const limit = (withoutRepo.values.get(key)?.value ?? byDefault) as number
      const placed = merged.values.get(key)
      if (placed?.layer === 'repo') expect(placed.value).toBeLessThanOrEqual(limit)
      else expect(placed).toEqual(withoutRepo.values.get(key))
    }
  })
})

test('the order in which layers are given does not matter', () => {
  check((all, merged) => {
    expect(mergeLayers([...all].reverse())).toEqual(merged)
  })
})

function check(holds: (all: LayerValues[], merged: ReturnType<typeof mergeLayers>) => void): void {
  fc.assert(
    fc.property(layers, (all) => holds(all as LayerValues[], mergeLayers(all as LayerValues[]))),
    { numRuns: 150 },
  )
}

function entries({ values }: LayerValues): Record<string, unknown> {
  return (values.mcpServers ?? {}) as Record<string, unknown>
}
