import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parsePlaybook } from './playbook-file.ts'

test('what is wrong with a playbook is named with its file, line and field, all of it at once', () => {
  const text = `{
  "conversations": [
    { "turns": [
      { "text": "ok" },
      { "texts": "no" },
      { "text": "ok",
        "chunkSize": 0 }
    ] }
  ]
}`

  expect(() => parsePlaybook(text, 'demo.json')).toThrow(
    /^demo\.json:5: conversations\.0\.turns\.1: Unrecognized key.*\ndemo\.json:7: conversations\.0\.turns\.2\.chunkSize: Too small/,
  )
})

test.each([
  ['{\n"title": ', /^demo\.json:2: not JSON: ValueExpected/],
  ['', /^demo\.json:1: not JSON/],
  ['{"conversations": [],}', /^demo\.json:1: not JSON/],
  ['// no\n{"conversations": []}', /^demo\.json:1: not JSON: InvalidCommentToken/],
  ['[]', /^demo\.json:1: the file: Invalid input/],
  ['{}', /^demo\.json:1: conversations: Invalid input/],
])('a file that holds %j is refused', (text, words) => {
  expect(() => parsePlaybook(text, 'demo.json')).toThrow(words)
})

test('a playbook may write patterns as JSON', () => {
  const playbook = parsePlaybook(
    '{"conversations":[{"match":{"regex":"^You"},"turns":[{"assert":{"toolResults":[{"regex":"\\\\d+ passed"}]}}]}]}',
  )

  expect(playbook.conversations[0]?.match).toEqual({ regex: '^You' })
})

test('a pattern that is no regular expression is named with its line', () => {
  expect(() => parsePlaybook('{"conversations":[{"match":\n{"regex":"("},"turns":[]}]}', 'demo.json')).toThrow(
    /^demo\.json:2: conversations\.0\.match\.regex: Invalid regular expression/,
  )
  expect(() =>
    parsePlaybook('{"conversations":[{"turns":[{"capture":{"a":{"from":"system","pattern":"("}}}]}]}'),
  ).toThrow(/pattern: Invalid regular expression/)
})

test.each([
  ['an answer that leaves no trace', { turns: [{ text: ' ' }] }, 'conversations.0.turns.0: says nothing'],
  [
    'a fresh history without a place to go on from',
    { turns: [{ text: '<summary></summary>' }, { fresh: true, text: 'On.' }] },
    'conversations.0.turns.1: is fresh, but the turn before it has no {{place}}',
  ],
  [
    'two conversations of one name',
    [
      { name: 'a', turns: [] },
      { name: 'a', turns: [] },
    ],
    'conversations.1.name: "a" is the name of another one',
  ],
])('a stateless playbook cannot have %s', (_, conversations, words) => {
  const playbook = JSON.stringify({ stateless: true, conversations: [conversations].flat() })

  expect(() => parsePlaybook(playbook)).toThrow(words)
})

test('asides and forks need a stateless playbook', () => {
  const playbook = JSON.stringify({ asides: [], conversations: [{ forkedAt: 'x', turns: [] }] })

  expect(() => parsePlaybook(playbook)).toThrow(
    'playbook:1: asides: needs "stateless": true in the playbook\nplaybook:1: conversations.0.forkedAt: needs "stateless": true',
  )
})

test('the playbook in the README can be played', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const example = /```json\n(.*?)```/s.exec(readme)?.[1] ?? ''

  expect(parsePlaybook(example, 'README.md').conversations).toHaveLength(2)
})
