import type { SideEffect } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { type ApprovalAnswer, type ApprovalPort, type ApprovalRequest, openApprovals } from './approval.ts'
import { buildRegistry } from './registry.ts'
import { manifestOf, scriptedServer } from './scripted-server.testing.ts'

const question = { agent: 'matrix://agent/test', input: { value: 1 }, reason: 'not listed' }

test('where nobody can be asked, the answer is no', async () => {
  expect(await openApprovals({}).ask({ ...question, tool: tool() })).toBe('No user to ask.')
})

test('an approval for once is asked for again', async () => {
  const { port, asked } = answering('once')
  const approvals = openApprovals({ port })
  await approvals.ask({ ...question, tool: tool() })

  expect(await approvals.ask({ ...question, tool: tool() })).toBeUndefined()
  expect(asked).toHaveLength(2)
})

test.each(['read', 'write', 'network', 'shell'] as const)(
  'at every scope an approval of a %s tool holds for exactly the arguments that were shown',
  async (effect) => {
    for (const scope of ['task', 'always'] as const) {
      const { port, asked } = answering(scope)
      const approvals = openApprovals({ port, always: new Set() })
      for (const path of ['ok/a', 'ok/a', 'secret/b'])
        await approvals.ask({ ...question, input: { path }, tool: tool(effect) })

      expect(asked.map(({ input }) => input)).toEqual([{ path: 'ok/a' }, { path: 'secret/b' }])
    }
  },
)

test('an approval for the task ends with the task', async () => {
  const { port, asked } = answering('task')
  await openApprovals({ port }).ask({ ...question, tool: tool() })
  await openApprovals({ port }).ask({ ...question, tool: tool() })

  expect(asked).toHaveLength(2)
})

test('a user who allows any arguments is not asked about other ones', async () => {
  const { port, asked } = answering('task', undefined, { anyArguments: true })
  const approvals = openApprovals({ port })
  await approvals.ask({ ...question, tool: tool() })

  expect(await approvals.ask({ ...question, input: { value: 2 }, tool: tool() })).toBeUndefined()
  expect(asked).toMatchObject([{ mayAllowAny: true }])
})

test('a shell is not allowed with any arguments, even if an answer says so', async () => {
  const { port, asked } = answering('task', undefined, { anyArguments: true })

  expect(await openApprovals({ port }).ask({ ...question, tool: tool('shell') })).toMatch(/any arguments/)
  expect(asked[0]).not.toHaveProperty('mayAllowAny')
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

function answering(scope: 'once' | 'task' | 'always', meanwhile = () => {}, more = {}) {
  const asked: ApprovalRequest[] = []
  const port: ApprovalPort = async (request): Promise<ApprovalAnswer> => {
    asked.push(request)
    meanwhile()
    return { decision: 'allow', scope, id: request.id, inputDigest: request.inputDigest, ...more }
  }
  return { port, asked }
}

function tool(side_effect_class: SideEffect = 'read') {
  return buildRegistry(manifestOf([{ ...scriptedServer(), tools: [{ name: 'echo', side_effect_class }] }])).resolve(
    'echo',
  )
}
