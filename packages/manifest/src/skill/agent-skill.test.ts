import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAgentSkill } from './agent-skill.ts'

const read = (front: string, folderName?: string) =>
  readAgentSkill(Buffer.from(`---\n${front}\n---\n\nFollow these steps.\n`), { folderName })

test('every field of the specification is read', () => {
  const { skill, findings } = read(
    'name: pdf-forms\ndescription: Fills forms.\nlicense: MIT\ncompatibility: Needs python3\nmetadata:\n  author: someone\n  version: 1.2\nallowed-tools: Bash(python3:*) Read',
    'pdf-forms',
  )
  expect(findings).toEqual([])
  expect(skill).toEqual({
    name: 'pdf-forms',
    description: 'Fills forms.',
    license: 'MIT',
    compatibility: 'Needs python3',
    metadata: { author: 'someone', version: '1.2' },
    allowedTools: new Map<string, unknown>([
      ['bash', { commands: ['python3(?:\\s.*)?'] }],
      ['background', {}],
      ['read_file', {}],
      ['list_files', {}],
      ['search', {}],
    ]),
    body: 'Follow these steps.',
  })
})

test('commas, lists and other spellings of allowed-tools mean the same', () => {
  const tools = (front: string) => [
    ...(read(`name: a\ndescription: b\n${front}`).skill?.allowedTools?.keys() ?? ['none']),
  ]
  expect(tools('allowed-tools: Read, Edit')).toEqual(tools('allowed-tools:\n  - Read\n  - Edit'))
  expect(tools('allowedTools: [Read, Edit]')).toEqual(tools('allowed-tools: Read Edit'))
  expect(tools('license: MIT')).toEqual(['none'])
})

test('a list of tools that cannot be read allows no tool', () => {
  const { skill, findings } = read('name: a\ndescription: b\nallowed-tools: {Read: true}')
  expect(skill?.allowedTools?.size).toBe(0)
  expect(findings).toMatchObject([{ rule: 'MX001', severity: 'error', line: 4 }])
})

test('a line of tools with a bracket that is not closed allows no tool, and says so', () => {
  const { skill, findings } = read('name: a\ndescription: b\nallowed-tools: Read, Bash(git')
  expect(skill?.allowedTools?.size).toBe(0)
  expect(findings).toMatchObject([{ rule: 'MX001', severity: 'error', line: 4 }])
})

test.each([
  ['../escape', 'MX026'],
  ['A Name', 'MX026'],
  ['a--b', 'MX026'],
  ['-a', 'MX026'],
  ['x'.repeat(65), 'MX026'],
  ['"a\\u202eb"', 'MX026'],
])('the name %s is refused', (name, rule) => {
  const { skill, findings } = read(`name: ${name}\ndescription: b`)
  expect(skill).toBeUndefined()
  expect(findings).toMatchObject([{ rule, severity: 'error', line: 2, column: 7 }])
})

test('a skill without a description is refused, one of another name than its folder is warned about', () => {
  expect(read('name: a').findings).toMatchObject([{ rule: 'MX001', severity: 'error' }])
  expect(read('description: b', 'from-folder').skill?.name).toBe('from-folder')
  expect(read('name: a\ndescription: b', 'c')).toMatchObject({
    skill: { name: 'a' },
    findings: [{ rule: 'MX026', severity: 'warning', line: 2 }],
  })
  expect(read(`name: a\ndescription: ${'x'.repeat(1025)}`).findings).toMatchObject([{ severity: 'warning', line: 3 }])
})

test('no bytes make it throw', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void readAgentSkill(bytes)))
  fc.assert(fc.property(fc.string(), (front) => void read(front)))
})
