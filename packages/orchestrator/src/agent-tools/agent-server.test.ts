import { loopTools, orchestratorTools, type ToolSpec } from '@matrix/protocol'
import { expect, test } from 'vitest'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'
import { openOffice, type Script } from '../simulation/office.testing.ts'
import { buildServer, openAgentServer, openLine, ownTools } from './agent-server.ts'
import { createAgentTools } from './agent-tools.ts'

// Nothing of them is touched before a tool runs.
const ctx = { skills: { list: async () => [{ name: 'any', state: 'ready' }] } } as unknown as ProjectContext
const agent = { taskId: '1' } as Agent

test('the server has exactly the tools that a model is told of, with the same words and schemas', async () => {
  const line = await openLine(buildServer(ctx, agent))
  const listed = await line.ask('tools/list')
  const told = await createAgentTools(ctx, agent, openAgentServer(ctx, agent))

  const tools = ('result' in listed ? listed.result.tools : []) as ToolSpec[]
  const served = tools.map(({ name, description, inputSchema: { $schema: _, ...inputSchema } }) => ({
    name: `mcp__mxd__${name}`,
    description,
    inputSchema,
  }))
  const own = told.filter(({ name }) => served.some((tool) => tool.name === name))
  expect(served).toEqual(own.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })))
  expect(ownTools.map(({ name }) => name)).toEqual(
    expect.arrayContaining([...Object.values(orchestratorTools), loopTools.done]),
  )
  expect(tools).toHaveLength(ownTools.length)
})

test('arguments that do not fit come back as a result that names them, and nothing runs', async () => {
  const server = openAgentServer(ctx, agent)
  const { content, isError } = await server.call(orchestratorTools.createTask, { title: 7 }, 'c1')
  await server.close()

  expect(isError).toBe(true)
  expect(content).toMatchObject([{ text: expect.stringContaining('title') }])
})

test('the id of the call and what a tool asks of the loop travel beside the words', async () => {
  const script: Script = ({ calls }) =>
    calls.length === 0
      ? { calls: [{ name: orchestratorTools.createTask, input: { title: 'Red', description: '', folder: true } }] }
      : { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'It is red.' } }] }
  const office = await openOffice({ shop: script })
  await office.say('Go')
  await office.settle()

  expect(await office.results()).toEqual([expect.stringMatching(/^Created task \w{26} "Red"/), 'The task is ended.'])
  expect(await office.task()).toMatchObject({ status: 'passed' })
})
