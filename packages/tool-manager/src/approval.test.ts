import { expect, test } from 'vitest'
import { type ApprovalAnswer, type ApprovalPort, type ApprovalRequest, openApprovals } from './approval.ts'
import { buildRegistry } from './registry.ts'
import { manifestOf, scriptedServer } from './scripted-server.testing.ts'

const question = { agent: 'matrix://agent/test', input: { value: 1 }, reason: 'not listed' }

test('where nobody can be asked, the answer is no', async () => {
  expect(await openApprovals({}).ask({ ...question, tool: tool() })).toBe('Nobody is there to be asked.')
})

test('an approval for once is asked for again', async () => {
  const { port, asked } = answering('once')
  const approvals = openApprovals({ port })
  await approvals.ask({ ...question, tool: tool() })

  expect(await approvals.ask({ ...question, tool: tool() })).toBeUndefined()
  expect(asked).toHaveLength(2)
})

test('an approval for the task holds for the tool in this task only', async () => {
  const { port, asked } = answering('task')
  const approvals = openApprovals({ port })
  await approvals.ask({ ...question, tool: tool() })
  await approvals.ask({ ...question, input: { value: 2 }, tool: tool() })
  await openApprovals({ port }).ask({ ...question, tool: tool() })

  expect(asked).toHaveLength(2)
})

test('an approval of a shell command holds for exactly that command', async () => {
  const { port, asked } = answering('task')
  const approvals = openApprovals({ port })
  await approvals.ask({ ...question, input: { command: 'ls' }, tool: tool('shell') })
  await approvals.ask({ ...question, input: { command: 'ls' }, tool: tool('shell') })
  await approvals.ask({ ...question, input: { command: 'rm -rf /' }, tool: tool('shell') })

  expect(asked.map(({ input }) => input)).toEqual([{ command: 'ls' }, { command: 'rm -rf /' }])
})

test('always is kept where it is told to be kept', async () => {
  const kept = new Set<string>()
  const { port, asked } = answering('always')
  await openApprovals({ port, always: kept }).ask({ ...question, tool: tool() })

  expect(await openApprovals({ port, always: kept }).ask({ ...question, tool: tool() })).toBeUndefined()
  expect(asked).toHaveLength(1)
})

test('an answer to another question, or to other arguments, approves nothing', async () => {
  let earlier: ApprovalRequest | undefined
  const replay: ApprovalPort = async (request) => {
    earlier ??= request
    return { decision: 'allow', scope: 'once', id: earlier.id, inputDigest: earlier.inputDigest }
  }
  const approvals = openApprovals({ port: replay })
  expect(await approvals.ask({ ...question, tool: tool() })).toBeUndefined()

  expect(await approvals.ask({ ...question, tool: tool() })).toBe('The answer belongs to another question.')
})

test('arguments that change while the question is open are not what was approved', async () => {
  const input = { path: 'a' }
  const { port } = answering('once', () => {
    input.path = '/etc/shadow'
  })

  expect(await openApprovals({ port }).ask({ ...question, input, tool: tool() })).toMatch(/changed while/)
})

test('a question that nobody answers expires', async () => {
  const silent: ApprovalPort = () => new Promise(() => {})

  expect(await openApprovals({ port: silent, expiresMs: 20 }).ask({ ...question, tool: tool() })).toMatch(/in time/)
})

function answering(scope: 'once' | 'task' | 'always', meanwhile = () => {}) {
  const asked: ApprovalRequest[] = []
  const port: ApprovalPort = async (request): Promise<ApprovalAnswer> => {
    asked.push(request)
    meanwhile()
    return { decision: 'allow', scope, id: request.id, inputDigest: request.inputDigest }
  }
  return { port, asked }
}

function tool(side_effect_class: 'read' | 'shell' = 'read') {
  return buildRegistry(manifestOf([{ ...scriptedServer(), tools: [{ name: 'echo', side_effect_class }] }])).resolve(
    'echo',
  )
}
