import { join } from 'node:path'
import type { AgentProposalView, AgentView } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { fakeDaemon, projectView } from '../fake-daemon.testing.ts'
import { folderWith, matrix } from '../matrix-process.testing.ts'

const proposal: AgentProposalView = {
  digest: 'sha256:1',
  name: 'rust',
  description: 'Builds.',
  format: 'agent-format',
  words: ['Runs commands in the sandbox.'],
  servers: [
    { alias: 'mxd', from: 'serve-tools.mjs', tools: [{ name: 'bash', sideEffect: 'shell', reason: 'as it says' }] },
  ],
  leftOut: [],
  findings: [],
  suspicions: ['git/status speaks to the model'],
  notes: [],
  replaces: [],
}
const missing = { alias: 'git', reason: '"git" runs git-mcp.', hint: 'Install it.', code: 'PACKAGE_UNAVAILABLE' }
const added: AgentView = {
  name: 'rust',
  description: 'Builds.',
  source: 'user',
  file: '/data/agents/rust.json',
  state: 'approved',
  isLocked: true,
  isInForce: true,
  allowedSideEffects: ['shell'],
  servers: ['mxd'],
  leftOut: [{ alias: 'git', reason: '"git" runs git-mcp.' }],
  problem: null,
}

test('an agent is shown before it is added, with its bytes and its folder as they are', async () => {
  const folder = folderWith({ 'rust.json': '{"name": "rust"}' })
  const { env, asked } = await fakeDaemon({ proposeAgent: proposal, addAgent: added })
  const { code, stdout, stderr } = await matrix(['agent', 'add', join(folder, 'rust.json'), '--yes'], { env })

  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Added rust: .*--agent rust/) })
  for (const text of ['Runs commands in the sandbox.', 'git/status speaks to the model', 'bash'])
    expect(stderr).toContain(text)
  expect(asked).toMatchObject([
    { operation: 'proposeAgent', body: { fileName: 'rust.json', folder, content: btoa('{"name": "rust"}') } },
    { operation: 'addAgent', body: { digest: 'sha256:1', skip: false, replace: false } },
  ])
})

test('a server that cannot be used ends the command with 4, unless it may be left out', async () => {
  const folder = folderWith({ 'rust.json': '{}' })
  const { env, asked } = await fakeDaemon({ proposeAgent: { ...proposal, leftOut: [missing] }, addAgent: added })
  const add = (...options: string[]) =>
    matrix(['agent', 'add', join(folder, 'rust.json'), '--yes', ...options], { env })

  expect(await add()).toMatchObject({ code: 4, stderr: expect.stringMatching(/"git" runs git-mcp[\s\S]*--skip/) })
  expect(asked.map(({ operation }) => operation)).toEqual(['proposeAgent'])
  expect(await add('--skip')).toMatchObject({ code: 0 })
  expect(asked.at(-1)).toMatchObject({ operation: 'addAgent', body: { skip: true } })
})

test('without a terminal and without --yes, nothing is added', async () => {
  const folder = folderWith({ 'rust.json': '{}' })
  const { env, asked } = await fakeDaemon({ proposeAgent: proposal, addAgent: added })

  expect(await matrix(['agent', 'add', join(folder, 'rust.json')], { env })).toMatchObject({ code: 2 })
  expect(asked.map(({ operation }) => operation)).toEqual(['proposeAgent'])
})

test('agents are listed with where they come from, also outside of every project', async () => {
  const damaged: AgentView = {
    ...added,
    name: 'odd',
    state: 'damaged',
    problem: { code: 'X', message: 'odd.json:1: no', hint: '' },
  }
  const { env } = await fakeDaemon({ listProjects: [projectView()], listAgents: [added, damaged] })
  const { code, stdout } = await matrix(['agents'], { env })

  expect(code).toBe(1)
  expect(stdout).toMatch(/rust +user +approved, locked +shell +Builds\. \(without git\)/)
  expect(stdout).toMatch(/odd +user +damaged, locked +shell +odd\.json:1: no/)
})
