import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isAgentUri } from '../manifest/agent-uri.ts'
import { checkAgentName } from './agent-name.ts'

test.each(['a', 'rust-developer-agent', 'Agent-7', '7up', 'a'.repeat(64), 'null', 'console', 'com10', 'nul-device'])(
  '%s is a good name',
  (name) => {
    expect(checkAgentName(name)).toEqual([])
  },
)

test.each([
  ['', 'is empty'],
  ['nul', 'is the name of a device on Windows'],
  ['CON', 'is the name of a device on Windows'],
  ['Com1', 'is the name of a device on Windows'],
  ['lpt9.json', 'is the name of a device on Windows'],
  ['aux.tar.gz', 'is the name of a device on Windows'],
  ['nul ', 'is the name of a device on Windows'],
  ['com¹', 'is the name of a device on Windows'],
  ['builtin', 'is reserved'],
  ['Native', 'is reserved'],
  ['a'.repeat(65), 'has 65 characters; 64 are allowed'],
  ['naïve', 'holds other characters than ASCII letters, digits and "-"'],
  ['two words', 'holds other characters than ASCII letters, digits and "-"'],
  ['../up', 'holds other characters than ASCII letters, digits and "-"'],
  ['-rf', 'does not start with a letter or digit'],
])('%j is refused: it %s', (name, complaint) => {
  const [problem, ...more] = checkAgentName(name)

  expect(problem).toMatchObject({ rule: 'MX026', path: ['name'] })
  expect(problem?.message).toContain(complaint)
  expect(problem?.severity).toBeUndefined()
  expect(more).toEqual([])
})

test('an underscore is accepted with a warning that offers the name without it', () => {
  expect(checkAgentName('q_cli_default')).toMatchObject([
    { rule: 'MX026', severity: 'warning', fix: 'Write "q-cli-default".' },
  ])
})

test('every name without a complaint is good in an agent URI', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'Z', '0', '-', '_', '.', '/', ' ', 'é'), maxLength: 70 }),
      (name) => {
        if (checkAgentName(name).length === 0) expect(isAgentUri(`matrix://agent/${name}`)).toBe(true)
      },
    ),
  )
})
