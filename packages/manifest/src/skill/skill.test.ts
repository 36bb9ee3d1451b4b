import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Manifest } from '../manifest/manifest.ts'
import { formatToolUri } from '../manifest/tool-uri.ts'
import { parseSkill } from './skill.ts'
import { isToolInSkill } from './tool-allowlist.ts'

const fixtures = new URL('../../fixtures/skills/', import.meta.url)
const digest = 'sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a'
const read = 'matrix://tool/mcp/fs/read_text_file@2026.8.31'

test('a skill with all its sections and declared tools has no findings', () => {
  for (const name of readdirSync(new URL('good/', fixtures)))
    expect(parseSkill(fixture(`good/${name}`), { manifest }).findings, name).toEqual([])
})

test('a list allows exactly its tools, each by version and by digest where the manifest says that they are one', () => {
  const { tools } = parseSkill(fixture('good/review.mtx'), { manifest })

  for (const uri of [
    read,
    `matrix://tool/mcp/fs/read_text_file@${digest}`,
    'matrix://tool/mcp/fs/list_directory@2026.8.31',
  ])
    expect(isToolInSkill(tools, uri), uri).toBe(true)
  for (const uri of [
    'matrix://tool/mcp/fs/write_file@2026.8.31',
    'matrix://tool/mcp/fs/read_text_file@2026.8.30',
    'none',
    '',
  ])
    expect(isToolInSkill(tools, uri), uri).toBe(false)
  expect(isToolInSkill(tools, { server: 'docs', tool: 'search', pin: '1.2.0' })).toBe(true)
})

test('without a manifest, a pin allows only itself', () => {
  const { tools } = parseSkill(fixture('good/review.mtx'))

  expect(isToolInSkill(tools, read)).toBe(true)
  expect(isToolInSkill(tools, `matrix://tool/mcp/fs/read_text_file@${digest}`)).toBe(false)
})

test('a placeholder digest in the manifest is no second pin', () => {
  const zeros = `sha256:${'0'.repeat(64)}`
  const servers = manifest.servers.map((server) => ({ ...server, package_digest: zeros }))
  const { tools } = parseSkill(`§TOOLS\n${read}\n`, { manifest: { ...manifest, servers } })

  expect(tools).toEqual(new Set([read]))
})

test('none allows nothing, and so does an empty section; an absent one leaves it to the manifest', () => {
  const rest = '§SKILL\n§INPUTS\n§CORTEX\n§SUB_SKILLS\n§PROCEDURE\n§OUTPUTS\n§FAILURE_MODES\n'
  const none = parseSkill(`${rest}§TOOLS\nnone`)
  const empty = parseSkill(`${rest}§TOOLS\n# nothing yet\n`)
  const absent = parseSkill(rest)

  expect([none, empty, absent].map(({ tools }) => isToolInSkill(tools, read))).toEqual([false, false, true])
  expect(none.findings).toEqual([])
  expect(empty.findings).toMatchObject([{ rule: 'MX001', severity: 'note', line: 8 }])
  expect(absent.findings).toMatchObject([{ rule: 'MX001', severity: 'warning', line: 1 }])
})

test('lines that end in CRLF are read like any others', () => {
  const { tools, findings } = parseSkill(fixture('bad/tools.mtx').replaceAll('\n', '\r\n'), { manifest })

  expect(findings.map(({ line, column }) => [line, column])).toContainEqual([7, 3])
  expect(tools).toEqual(parseSkill(fixture('bad/tools.mtx'), { manifest }).tools)
})

test('each line that is wrong is found at its line and column, and allows nothing', () => {
  const { tools, findings } = parseSkill(fixture('bad/tools.mtx'), { manifest })

  expect(findings.map(({ line, column, rule, severity }) => `${line}:${column} ${rule} ${severity}`)).toEqual([
    '6:1 MX015 error',
    '7:3 MX015 error',
    '8:1 MX016 error',
    '9:1 MX016 error',
    '10:1 MX016 error',
    '11:1 MX016 error',
    '12:1 MX005 error',
    '13:1 MX023 warning',
    '15:1 MX012 warning',
    '16:1 MX016 error',
    '22:1 MX025 warning',
  ])
  expect(findings[1]).toMatchObject({
    endColumn: 38,
    locked: 'Q17',
    fix: 'End the URI with @2026.8.31, as the manifest has it.',
  })
  expect(findings[3]?.message).toContain(`"fs" is pinned to 2026.8.31 or ${digest}.`)
  expect(tools).toEqual(
    new Set(['2026.8.31', digest].map((pin) => formatToolUri({ server: 'fs', tool: 'write_file', pin }))),
  )
})

test('where a file contradicts itself about its tools, it may use none', () => {
  const found = (name: string) => {
    const { tools, findings } = parseSkill(fixture(`bad/${name}.mtx`), { manifest })
    expect(tools, name).toEqual(new Set())
    return findings.filter(({ severity }) => severity === 'error').map(({ line, rule }) => `${line} ${rule}`)
  }

  expect(found('contradiction')).toEqual(['7 MX001'])
  expect(found('misspelled')).toEqual(['5 MX025'])
  expect(found('twice')).toEqual(['12 MX001'])
  expect(found('one-line')).toEqual(['3 MX001'])
})

test('a file without a section is no skill, and an invisible character in a name is seen', () => {
  expect(parseSkill('').findings).toMatchObject([{ rule: 'MX001', severity: 'error' }])
  expect(parseSkill('just text\n').tools).toEqual(new Set())
  expect(parseSkill(`§TOOLS\n${read.replace('read', 're\u200Bad')}\n`).findings).toContainEqual(
    expect.objectContaining({ rule: 'MX024', line: 2 }),
  )
  expect(parseSkill('§TOO\u200BLS\nnone').tools).toEqual(new Set())
})

test('strict makes the warnings of a skill errors', () => {
  expect(parseSkill('§SKILL\n', { mode: 'strict' }).findings.map(({ severity }) => severity)).toEqual([
    'error',
    'error',
  ])
})

test('no text makes it throw, and nothing is allowed that does not stand in it word for word', () => {
  const line = fc.oneof(
    fc.constantFrom('§TOOLS', '§SKILL', 'none', read, `- ${read}`, '# x', '§', `${read} # y`),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), (lines, end) => {
      const text = lines.join(end)
      const { tools } = parseSkill(text)
      if (tools === 'unconstrained') expect(lines.some((each) => each.trim().startsWith('§TOOLS'))).toBe(false)
      else for (const uri of tools) expect(text).toContain(uri)
    }),
  )
})

function fixture(name: string): string {
  return readFileSync(new URL(name, fixtures), 'utf8')
}

const manifest: Manifest = {
  schema_version: 1,
  agent: 'matrix://agent/x',
  allowed_side_effects: ['read'],
  servers: [
    {
      alias: 'fs',
      transport: 'stdio',
      command: 'npx',
      version: '2026.8.31',
      package_digest: digest,
      tools: [
        { name: 'read_text_file', side_effect_class: 'read' },
        { name: 'list_directory', side_effect_class: 'read' },
        { name: 'write_file', side_effect_class: 'write' },
      ],
    },
    {
      alias: 'docs',
      transport: 'http',
      endpoint: 'https://mcp.example.com/docs',
      version: '1.2.0',
      tools: [{ name: 'search', side_effect_class: 'network' }],
    },
  ],
}
