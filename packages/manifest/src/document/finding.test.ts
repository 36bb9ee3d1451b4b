import { expect, test } from 'vitest'
import { verifyDocument } from '../verify.ts'
import { MAX_FINDINGS, type Problem, placeProblems } from './finding.ts'
import { openSourceText } from './source-text.ts'

test('of too many findings the worst are kept in the order of the file, and the rest is counted', () => {
  const source = openSourceText(JSON.stringify({ list: Array.from({ length: 1_500 }, () => 0) }))
  const problems = Array.from({ length: 1_500 }, (_, index): Problem => {
    const severity = index < 700 ? 'note' : 'error'
    return { rule: 'MX001', severity, path: ['list', index], message: `at ${index}` }
  })
  const findings = placeProblems(problems, source, 'default')

  expect(findings).toHaveLength(MAX_FINDINGS + 1)
  expect(findings.filter(({ severity }) => severity === 'error')).toHaveLength(800)
  expect(findings.slice(0, 201).map(({ message }) => message)).toContain('at 700')
  expect(findings.at(-1)).toMatchObject({ severity: 'note', message: expect.stringContaining('500 more findings') })
  expect(placeProblems(problems.slice(0, MAX_FINDINGS), source, 'default')).toHaveLength(MAX_FINDINGS)
})

test('a great many mistakes are found in seconds', async () => {
  const unknown = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`k${index}`, 0]))
  const tools = Array.from({ length: 60_000 }, () => ({ name: 'a', side_effect_class: 'read' }))
  const keys = Array.from({ length: 200_000 }, () => '"a":0').join(',')
  for (const text of [
    JSON.stringify({ schema_version: 1, ...unknown }),
    JSON.stringify({ schema_version: 1, servers: [{ alias: 'a', transport: 'stdio', tools }] }),
    `{${keys}}`,
  ]) {
    const started = process.cpuUsage()
    const { findings } = await verifyDocument(Buffer.from(text))

    expect(findings).toHaveLength(MAX_FINDINGS + 1)
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(20_000)
  }
}, 60_000)
