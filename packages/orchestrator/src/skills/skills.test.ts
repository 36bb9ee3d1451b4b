import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { orchestratorTools } from '@matrix/protocol'
import type { TaskView } from '@matrix/protocol/http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EventOf } from '../agent.ts'
import { openTestOrchestrator, type TestOrchestrator } from '../node-orchestrator.testing.ts'
import type { Orchestrator } from '../operations.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const none = { query: {}, body: undefined }
let place: TestOrchestrator
let orchestrator: Orchestrator

beforeEach(async () => {
  place = await openTestOrchestrator()
  orchestrator = place.orchestrator
})
afterEach(() => place.close())

test('a skill of the repository is approved once, its script runs from the approved copy, and it is listed by name', async () => {
  const script = '.claude/skills/greet/scripts/greet.sh'
  await plant(
    '.claude/skills/greet/SKILL.md',
    skill('greet', 'Greets people. Use for greetings.', 'Run scripts/greet.sh.'),
  )
  await plant(script, 'echo approved\n')
  const before = await inboxOf(orchestrator)
  place.mock.play({
    match: 'Greet them',
    turns: [
      { assert: { userText: [/- greet: Greets people/] }, toolCalls: [use('greet')] },
      {
        capture: { folder: { from: 'toolResults', pattern: 'Its files lie in (\\S+), which' } },
        toolCalls: [bash('sh {{folder}}/scripts/greet.sh; touch {{folder}}/x')],
      },
      {
        assert: { toolResults: [/approved[\s\S]*Read-only file system/] },
        toolCalls: [use('greet', 'scripts/greet.sh')],
      },
      { assert: { toolResults: [/^echo approved\n$/] }, toolCalls: [done] },
    ],
  })
  await place.send('Greet them')
  await waitFor(({ status }) => status === 'passed')
  place.mock.verify()

  expect(before).toEqual([])
  expect(await listed()).toMatchObject([{ name: 'greet', source: 'repository', state: 'ready' }])
  await plant(script, 'echo replaced\n')
  expect(await listed()).toMatchObject([{ name: 'greet', state: 'changed' }])
  const shown = await orchestrator.getSkill({ params: { projectId: place.projectId, name: 'greet' }, ...none })
  expect(shown.files).toMatchObject([
    { path: 'SKILL.md', change: 'same' },
    {
      path: 'scripts/greet.sh',
      change: 'changed',
      text: 'echo replaced\n',
      difference: 'echo [-approved-] {+replaced+}',
    },
  ])
})

test('§TOOLS of an attached skill holds the task and its sub tasks, and what nobody approved cannot be attached', async () => {
  await plant('skills/look/SKILL.mtx', mtx(['read_file']))
  const { projectId, rootId } = place
  const attach = () =>
    orchestrator.updateTask({ params: { projectId, taskId: rootId }, query: {}, body: { skills: ['look'] } })
  await expect(attach()).rejects.toThrow('"look" is not approved')
  await approve('look')
  await attach()
  play('Try it', [bash('echo no'), { name: 'mcp__mxd__commit', input: { message: 'no' } }, read])
  await place.send('Try it')
  const [shell, commit, file] = await resultsOf(rootId, 3)

  expect(shell).toContain('There is no tool mcp__mxd__bash')
  expect(commit).toContain('There is no tool mcp__mxd__commit')
  expect(file).toContain('hello')

  const child = await orchestrator.createTask({
    params: { projectId },
    query: {},
    body: { title: 'Below', description: '' },
  })
  play('Below', [bash('echo no')])
  await orchestrator.sendMessage({ params: { projectId, taskId: child.id }, query: {}, body: { text: 'Go' } })
  expect((await resultsOf(child.id, 1))[0]).toContain('There is no tool mcp__mxd__bash')
})

test('a skill that is attached while its agent runs holds the next call, and after a restart', async () => {
  await plant('.agents/skills/careful/SKILL.md', skill('careful', 'Takes care.', 'Care.', 'Bash(echo:*) Read'))
  await approve('careful')
  const { projectId, rootId } = place
  const params = { projectId, taskId: rootId }
  const wait = { name: 'mcp__mxd__yield', input: {} }
  const hidden = bash('echo $(ls)')
  play('First', [bash('ls'), wait, bash('ls'), bash('echo fine'), hidden, wait, bash('ls')])
  await place.send('First')
  expect((await resultsOf(rootId, 1))[0]).toContain('readme.md')
  await orchestrator.updateTask({ params, query: {}, body: { skills: ['careful'] } })
  await place.send('Second')
  const results = await resultsOf(rootId, 4)
  expect(results[1]).toContain('AUTHORIZATION_DENIED')
  expect(results[2]).toContain('fine')
  expect(results[3]).toContain('AUTHORIZATION_DENIED')

  orchestrator = (await place.reopen(async () => {})).orchestrator
  await orchestrator.sendMessage({ params, query: {}, body: { text: 'Third' } })
  expect((await resultsOf(rootId, 5))[4]).toContain('AUTHORIZATION_DENIED')
})

async function plant(path: string, text: string): Promise<void> {
  const file = join(place.repository, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

function skill(name: string, description: string, body: string, tools?: string): string {
  return `---\nname: ${name}\ndescription: ${description}\n${tools ? `allowed-tools: ${tools}\n` : ''}---\n${body}\n`
}

function mtx(tools: string[]): string {
  const uris = tools.map((tool) => `matrix://tool/mcp/mxd/${tool}@${version}`)
  return `§SKILL\nLooks.\n§INPUTS\n§CORTEX\n§TOOLS\n${uris.join('\n')}\n§SUB_SKILLS\n§PROCEDURE\n§OUTPUTS\n§FAILURE_MODES\n`
}

const version = '0.1.0'
const done = { name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Done.' } }
const read = { name: 'mcp__mxd__read_file', input: { path: 'readme.md' } }
const bash = (command: string) => ({ name: 'mcp__mxd__bash', input: { command } })
const use = (name: string, file?: string) => ({
  name: orchestratorTools.useSkill,
  input: { name, ...(file && { file }) },
})

function play(match: string, calls: { name: string; input: object }[]): void {
  const turns = [...calls, { name: 'mcp__mxd__yield', input: {} }].map((call) => ({ toolCalls: [call] }))
  place.mock.play({ match, turns })
}

async function approve(name: string): Promise<void> {
  const params = { projectId: place.projectId, name }
  const { digest } = await orchestrator.getSkill({ params, ...none })
  await orchestrator.approveSkill({ params, query: {}, body: { digest: digest ?? '' } })
}

function listed() {
  return orchestrator.listSkills({ params: { projectId: place.projectId }, ...none })
}

function inboxOf(of: Orchestrator) {
  return of.listAttention({ params: {}, ...none })
}

async function waitFor(isReached: (task: TaskView) => boolean): Promise<void> {
  const params = { projectId: place.projectId, taskId: place.rootId }
  await vi.waitFor(async () => expect(isReached(await orchestrator.getTask({ params, ...none }))).toBe(true), {
    timeout: 50_000,
    interval: 50,
  })
}

/** The texts of the results of a task, but for those that only say that it waits. */
async function resultsOf(taskId: string, count: number): Promise<string[]> {
  return vi.waitFor(
    async () => {
      const params = { projectId: place.projectId, taskId }
      const { events } = await orchestrator.readEvents({ params, query: { limit: 200 }, body: undefined })
      const names = new Map(
        events.flatMap(({ event }) => (event.type === 'tool_call' ? [[event.callId, event.name]] : [])),
      )
      const results = events.flatMap(({ event }) =>
        event.type === 'tool_result' && names.get(event.callId) !== 'mcp__mxd__yield'
          ? [(event as EventOf<'tool_result'>).content.map((part) => ('text' in part ? part.text : '')).join('\n')]
          : [],
      )
      expect(results.length).toBeGreaterThanOrEqual(count)
      return results
    },
    { timeout: 50_000, interval: 50 },
  )
}
