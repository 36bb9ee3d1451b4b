import { expect, test } from 'vitest'
import { parsePlaybook } from './playbook.ts'

test('a playbook from a file names the field that is wrong', () => {
  const wrong = { conversations: [{ turns: [{ text: 'ok' }, { texts: 'no' }] }] }

  expect(() => parsePlaybook(JSON.stringify(wrong), 'demo.json')).toThrow(
    /^demo\.json: conversations\.0\.turns\.1: Unrecognized key/,
  )
  expect(() => parsePlaybook('{', 'demo.json')).toThrow(/^demo\.json is not JSON/)
})

test('a playbook may write patterns as JSON', () => {
  const playbook = parsePlaybook(
    '{"conversations":[{"match":{"regex":"^You"},"turns":[{"assert":{"toolResults":[{"regex":"\\\\d+ passed"}]}}]}]}',
  )

  expect(playbook.conversations[0]?.match).toEqual({ regex: '^You' })
})
