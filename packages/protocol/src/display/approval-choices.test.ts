import { expect, test } from 'vitest'
import { approvalChoices } from './approval-choices.ts'

const call = 'matrix://tool/mcp/mxd/bash@1.0.0'
const message = 'send_message_to_project'

test('an approval offers only the scopes that it names, and each answer its own key', () => {
  const answers = [
    approvalChoices({ uri: message, scopes: ['once'] }),
    approvalChoices({ uri: message, scopes: ['once', 'always'] }),
    approvalChoices({ uri: 'setup', scopes: ['always'] }),
    approvalChoices({ uri: 'request_access', host: 'example.com' }),
    approvalChoices({ uri: call, mayAllowAny: true, scopes: ['once', 'task'] }),
  ]

  expect(answers.map((choices) => choices.map(({ label }) => label))).toEqual([
    ['Allow once'],
    ['Allow once', 'Always'],
    ['Approve'],
    ['For 10 minutes', 'For this task', 'For this project'],
    ['Allow once', 'These arguments in this task', 'Any arguments in this task'],
  ])
  for (const choices of answers) expect(new Set(choices.map(({ key }) => key)).size).toBe(choices.length)
})

test('any arguments are offered only where the approval says so', () => {
  expect(approvalChoices({ uri: call }).some(({ anyArguments }) => anyArguments)).toBe(false)
  expect(approvalChoices({ uri: call, mayAllowAny: true }).filter(({ anyArguments }) => anyArguments)).toHaveLength(2)
})
