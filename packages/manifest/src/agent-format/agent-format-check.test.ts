import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { type Mode, type Problem, placeProblems } from '../document/finding.ts'
import { Policy } from '../policy/policy.ts'
import { checkAgentFormat } from './agent-format-check.ts'

test('the complete example of the format has one flaw: a dot in a reference', () => {
  const { findings, agent, policy } = check('good/rust-developer.json')

  expect(findings).toEqual(['18 MX018 warning'])
  expect(check('good/rust-developer.json', { mode: 'strict' }).findings).toEqual(['18 MX018 error'])
  expect(agent).toMatchObject({ name: 'rust-developer-agent', version: '1.2.0' })
  expect(policy).toEqual({
    tools: [
      ...['read_file', 'list_files', 'search', 'write_file', 'edit_file', 'bash', 'background'],
      ...['@git', '@rust-analyzer/check-code', '@rust-analyzer/format-code'],
    ],
    allowedTools: ['read_file', 'list_files', 'search', '@git/git-status', '@rust-analyzer/check-code'],
    toolsSettings: {
      write_file: { allowedPaths: ['src/**', 'tests/**', 'Cargo.toml'] },
      edit_file: { allowedPaths: ['src/**', 'tests/**', 'Cargo.toml'] },
    },
    resources: [],
    hooks: {},
  })
})

test('a hook has ten minutes at most', () => {
  const problems = (timeout_ms: number) => {
    const agent = { name: 'a', version: '1.0.0', hooks: { stop: { command: 'ls', timeout_ms } } }
    return checkAgentFormat(agent).problems.filter(({ path }) => path[0] === 'hooks')
  }
  expect(problems(600_000)).toEqual([])
  expect(problems(600_001)).toMatchObject([{ rule: 'MX001' }])
})

test('trailing commas are an error, except where files of other programs are read', () => {
  expect(check('good/hooks-with-trailing-commas.json', { relaxed: false }).findings).toContain('7 MX001 error')
  const { findings, policy } = check('good/hooks-with-trailing-commas.json')

  expect(findings).toEqual([])
  expect(policy?.hooks).toEqual({ agentSpawn: [{ command: 'git status' }], userPromptSubmit: [{ command: 'ls' }] })
})

test('a file for Amazon Q is read whole', () => {
  const { findings, policy } = check('good/q-developer.json')

  expect(findings).toEqual(['22 MX029 note', '46 MX029 note'])
  expect(policy).toMatchObject({
    model: 'claude-sonnet-4',
    prompt: 'file://./prompts/payments.md',
    resources: ['file://README.md', 'file://docs/**/*.md', 'file://~/notes/payments.md', 'file:///etc/hosts'],
    toolsSettings: { bash: { deniedCommands: ['git push .*', '.*--force.*'] }, '@github/create_issue': {} },
  })
  expect(policy?.hooks.preToolUse?.map(({ matcher }) => matcher)).toEqual(['write_file', 'edit_file', '@postgres'])
  expect(policy?.hooks.stop).toEqual([])
})

test('the typed form with singular toolSettings and snake_case means the same', () => {
  const { findings, policy } = check('good/typed-settings.json')
  const settings = { allowedPaths: ['/var/log'], deniedPaths: ['/var/log/auth*'] }

  expect(findings).toEqual([])
  expect(policy?.tools).toEqual(['*'])
  expect(policy?.toolsSettings).toEqual({ read_file: settings, list_files: settings, search: settings })
  expect(policy?.prompt).toMatch(/^You read logs/)
})

test('a file for Kiro is read, and what it says that Matrix does not do is named', () => {
  const { findings, policy } = check('good/kiro-cli.json')

  expect(findings).toEqual([
    '6 MX002 warning',
    '9 MX029 note',
    '10 MX029 warning',
    '19 MX027 warning',
    '27 MX029 note',
    '28 MX029 note',
    '33 MX029 note',
  ])
  expect(policy?.resources).toEqual(['file://.kiro/steering/**/*.md'])
  expect(policy?.allowedTools).toEqual(['read_file', 'list_files', 'search', '@awslabs.docs/search_*'])
})

test.each([
  ['names', ['2 MX026 error', '3 MX001 error']],
  [
    'servers',
    [
      ...['4 MX002 error', '5 MX002 error', '6 MX002 error', '7 MX002 error', '8 MX017 error', '9 MX003 error'],
      ...['10 MX003 error', '11 MX003 error', '12 MX003 error', '13 MX003 error', '14 MX003 error'],
      ...['15 MX003 warning', '17 MX001 error', '17 MX001 error', '18 MX025 warning'],
    ],
  ],
  [
    'credentials',
    [
      ...['6 MX008 error', '8 MX008 error', '10 MX009 error', '15 MX008 error'],
      ...['16 MX008 error', '17 MX008 error', '22 MX008 error', '25 MX008 error'],
    ],
  ],
  [
    'references',
    [
      ...['7 MX027 warning', '9 MX027 warning', '10 MX027 warning', '11 MX027 warning', '12 MX027 warning'],
      ...['13 MX029 note', '14 MX018 warning', '17 MX019 error', '18 MX019 error', '19 MX019 warning'],
      ...['20 MX018 warning', '21 MX018 error', '22 MX018 error', '23 MX001 error', '24 MX027 warning'],
      ...['26 MX029 note', '27 MX027 warning', '28 MX001 error'],
    ],
  ],
  [
    'settings',
    [
      ...['7 MX001 error', '8 MX001 error', '11 MX001 warning', '12 MX001 error', '13 MX025 warning'],
      ...['15 MX001 error', '17 MX001 error', '19 MX027 warning', '20 MX018 warning', '20 MX001 error'],
      ...['21 MX027 warning', '23 MX001 error'],
    ],
  ],
  [
    'hooks',
    [
      ...['6 MX025 error', '7 MX025 error', '8 MX025 error', '10 MX018 warning', '11 MX027 warning'],
      ...['12 MX025 warning', '14 MX027 warning', '14 MX027 warning'],
    ],
  ],
  [
    'hook-form',
    [
      ...['3 MX001 error', '4 MX019 error', '6 MX001 error', '6 MX001 error', '7 MX001 error', '7 MX025 warning'],
      '8 MX001 error',
    ],
  ],
  [
    'fields',
    [
      ...['2 MX026 warning', '3 MX024 error', '4 MX025 warning', '5 MX025 warning', '6 MX025 warning'],
      ...['8 MX001 error', '10 MX001 error', '10 MX001 error', '10 MX001 error'],
    ],
  ],
  ['nothing', ['1 MX001 error']],
])('every flaw of bad/%s.json is found on its line', (file, expected) => {
  const { findings, policy } = check(`bad/${file}.json`)

  expect(findings).toEqual(expected)
  expect(policy).toBeUndefined()
})

test('no message or fix repeats a credential', () => {
  const { messages } = check('bad/credentials.json')

  expect(messages).not.toContain('hunter2')
})

test('advice names the field or trigger that was meant', () => {
  expect(check('bad/fields.json').messages).toContain('Write "allowedTools".')
  expect(check('bad/hooks.json').messages).toContain('Write "preToolUse".')
  expect(check('bad/hooks.json').messages).toContain('Write "agentSpawn".')
})

test('allowedTools may name more than tools does', () => {
  const value = { name: 'a', mcpServers: { git: { command: 'x' } }, tools: [], allowedTools: ['@git', 'fs_read'] }

  expect(flaws(checkAgentFormat(value).problems)).toEqual([])
})

test('a star that loses its neighbours does not come to stand alone', () => {
  const { policy, problems } = checkAgentFormat({ name: 'a', tools: ['*', 'use_aws'] })

  expect(policy?.tools).toEqual([])
  expect(flaws(problems).map(({ rule }) => rule)).toEqual(['MX027', 'MX027'])
})

test('a name is required, and other fields are not', () => {
  expect(flaws(checkAgentFormat({ name: 'a' }).problems)).toEqual([])
  expect(flaws(checkAgentFormat({}).problems)).toMatchObject([{ rule: 'MX026', path: ['name'] }])
})

test('a missing version, transport or list of tools is a warning that says what is assumed', () => {
  const { policy, problems } = checkAgentFormat({ name: 'a', mcpServers: { git: { command: 'git-mcp' } } })

  expect(policy).toMatchObject({ tools: [] })
  expect(problems.map(({ rule, severity, message }) => [rule, severity, message])).toEqual([
    ['MX001', 'warning', 'The agent has no "version".'],
    ['MX001', 'warning', 'The agent has no "tools", so its model is shown none.'],
    ['MX003', 'warning', '"git" has no "transport"; stdio is assumed.'],
  ])
})

test('settings for a tool of an undeclared server are a warning and have no effect', () => {
  const toolsSettings = { '@my-enterprise-mcp.my-tool': { 'some-configuration-value': true } }
  const { policy, problems } = checkAgentFormat({ name: 'a', version: '1.0.0', tools: [], toolsSettings })

  expect(problems).toMatchObject([{ rule: 'MX027', path: ['toolsSettings', '@my-enterprise-mcp.my-tool'] }])
  expect(policy?.toolsSettings).toEqual({})
})

test.each(['0.1.0', '1.0.0-alpha.11', '1.0.0-rc.1+build.5', '2026.8.31'])('%s is a version', (version) => {
  expect(flaws(checkAgentFormat({ name: 'a', version }).problems)).toEqual([])
})

test.each(['1', '1.2', 'v1.2.3', '01.2.3', '1.0.0-01', '^1.2.3', 'latest', ''])('%j is no version', (version) => {
  expect(flaws(checkAgentFormat({ name: 'a', version }).problems)).toMatchObject([{ rule: 'MX001', path: ['version'] }])
})

test('every policy has the form of a policy, whatever is done to the file it comes from', () => {
  const sources = ['q-developer', 'kiro-cli', 'typed-settings', 'rust-developer'].map(
    (name) => parseDocument(fixture(`good/${name}.json`)).value,
  )
  const strange = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('*', '@git.x', '@', '__proto__', 'constructor', '{*', {}, []),
  )

  fc.assert(
    fc.property(fc.constantFrom(...sources), fc.nat(), strange, fc.boolean(), (source, at, value, isKey) => {
      const { policy, agent } = checkAgentFormat(mutate(structuredClone(source), at, value, isKey))
      if (policy) expect(Policy.safeParse(policy).error).toBeUndefined()
      if (policy) expect(agent).toBeDefined()
    }),
    { numRuns: 300 },
  )
  fc.assert(fc.property(fc.anything({ withNullPrototype: true }), (value) => void checkAgentFormat(value)))
})

function check(file: string, { relaxed = true, mode = 'default' as Mode } = {}) {
  const { source, value, findings } = parseDocument(fixture(file), { relaxed })
  if (value === undefined) return { findings: findings.map(summary), messages: '', agent: undefined, policy: undefined }
  const { problems, ...rest } = checkAgentFormat(value)
  const placed = placeProblems(flaws(problems), source, mode)
  return {
    ...rest,
    findings: placed.map(summary),
    messages: placed.map(({ message, fix }) => message + fix).join('\n'),
  }
}

/** What the format describes and most files leave out is named once, in a test of its own. */
function flaws(problems: Problem[]): Problem[] {
  return problems.filter(({ message }) => !/has no "(?:version|tools|transport)"/.test(message))
}

function summary({ line, rule, severity }: { line: number; rule: string; severity: string }): string {
  return `${line} ${rule} ${severity}`
}

function fixture(file: string): Buffer {
  return readFileSync(new URL(`../../fixtures/agent-format/${file}`, import.meta.url))
}

/** Puts a value in place of one of the document's values, or gives one of its keys another name. */
function mutate(document: unknown, at: number, value: unknown, isKey: boolean): unknown {
  const slots: [object, string][] = []
  const visit = (part: unknown) => {
    if (typeof part !== 'object' || part === null) return
    for (const [key, inner] of Object.entries(part)) {
      slots.push([part, key])
      visit(inner)
    }
  }
  visit(document)
  const [holder, key] = slots[at % slots.length] ?? []
  if (!holder || key === undefined) return document
  if (isKey && !Array.isArray(holder) && typeof value === 'string')
    Object.defineProperty(holder, value, {
      value: Reflect.get(holder, key),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  else Reflect.set(holder, key, value)
  return document
}
