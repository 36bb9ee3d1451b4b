import { execFileSync } from 'node:child_process'
import { cp, rename } from 'node:fs/promises'
import { loopTools } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'
import { expect, test, vi } from 'vitest'
import { openTestOrchestrator } from './node-orchestrator.testing.ts'
import { openOffice } from './simulation/office.testing.ts'

vi.setConfig({ testTimeout: 60_000 })

const wait = { calls: [{ name: loopTools.yield }] }
const none = { params: {}, query: {}, body: undefined }

test('a project is renamed without any of its agents noticing', async () => {
  const office = await openOffice({
    shop: ({ calls }) =>
      calls.length === 0 ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'ask' } }] } : wait,
  })
  await office.say('Go')
  await office.settle()
  const before = await office.events()
  const frames: Frame[] = []
  office.orchestrator().subscribe((frame) => frames.push(frame))
  const params = { projectId: office.projectId }
  await office.orchestrator().updateProject({ params, query: {}, body: {} })
  const renamed = await office.orchestrator().updateProject({ params, query: {}, body: { name: 'Corner shop' } })
  await office.settle()

  expect(renamed).toMatchObject({ id: office.projectId, name: 'Corner shop', problem: null })
  expect(await office.events()).toEqual(before)
  expect(await office.orchestrator().listProjects(none)).toMatchObject([{ name: 'Corner shop', path: '/shop' }])
  expect(frames.filter(({ kind }) => kind === 'project').at(-1)).toMatchObject({ project: { name: 'Corner shop' } })
  office.machine.expire()
  await office.settle()
  expect(await office.task()).toMatchObject({ activity: 'waiting' })
})

test('a project goes by its new name where other projects hear of it', async () => {
  const office = await openOffice({
    shop: ({ calls }) =>
      calls.length === 0
        ? {
            calls: [
              { name: 'mcp__mxd__send_message_to_project', input: { projectId: depot.projectId, content: 'Hello' } },
            ],
          }
        : wait,
    depot: () => wait,
  })
  const depot = await office.register('/depot')
  await office.approveMessages(depot.projectId)
  const params = { projectId: office.projectId }
  await office.orchestrator().updateProject({ params, query: {}, body: { name: 'Corner shop' } })
  await office.say('Go')
  await office.settle()

  const heard = (await office.events(depot.rootId)).flatMap((event) =>
    event.type === 'message' && event.message.source === 'cross_project' ? [event.message.fromProject] : [],
  )
  expect(heard).toEqual(['Corner shop'])
})

test('changes of a project that are asked for at once happen one after the other', async () => {
  const { orchestrator, repository, projectId, close } = await openTestOrchestrator()
  const places = [`${repository}-a`, `${repository}-b`, `${repository}-c`]
  for (const place of places) await cp(repository, place, { recursive: true })
  const change = (body: { path?: string; name?: string }) =>
    orchestrator.updateProject({ params: { projectId }, query: {}, body })
  const answers = await Promise.all([
    ...places.map((path, index) => change({ path, name: `Shop ${index}` })),
    change({ name: 'Corner shop' }),
  ])

  expect(answers).toMatchObject([
    ...places.map((path, index) => ({ path, name: `Shop ${index}`, problem: null })),
    { path: places.at(-1), name: 'Corner shop', problem: null },
  ])
  expect(await orchestrator.listProjects(none)).toMatchObject([
    { path: places.at(-1), name: 'Corner shop', problem: null },
  ])
  await close()
})

test('a project that is moved while Matrix ends is closed with the others', async () => {
  const { orchestrator, repository, projectId, reopen, close } = await openTestOrchestrator()
  await cp(repository, `${repository}-a`, { recursive: true })
  const body = { path: `${repository}-a` }
  const moved = orchestrator.updateProject({ params: { projectId }, query: {}, body })
  const again = await reopen(async () => void (await moved))

  expect(again.resumed.problems).toEqual([])
  expect(await again.orchestrator.listProjects(none)).toMatchObject([{ ...body, problem: null }])
  await close()
})

test('after a repository has moved, git works in the worktrees that were there, and so does what was not committed', async () => {
  const { orchestrator, mock, send, repository, projectId, rootId, close } = await openTestOrchestrator()
  const bash = (command: string) => ({ toolCalls: [{ name: 'mcp__mxd__bash', input: { command } }] })
  mock.play({
    match: 'Write a note',
    turns: [
      bash('echo draft > note.txt && git status --short'),
      { assert: { toolResults: [/\?\? note\.txt/] }, text: 'Written.' },
      bash('git status --short && git log --oneline && cat note.txt'),
      { assert: { toolResults: [/\?\? note\.txt[\s\S]*first[\s\S]*draft/] }, text: 'Still there.' },
    ],
  })
  const params = { projectId, taskId: rootId }
  /** The root task, once its agent has made so many turns and rests. */
  const rested = (turns: number) =>
    vi.waitFor(
      async () => {
        const task = await orchestrator.getTask({ params, query: {}, body: undefined })
        expect(mock.requests).toHaveLength(turns)
        expect(task).toMatchObject({ activity: 'waiting', problem: null })
        return task
      },
      { timeout: 50_000, interval: 50 },
    )
  await send('Write a note')
  const { worktreePath } = await rested(2)
  const path = `${repository}-elsewhere`
  await rename(repository, path)
  const moved = await orchestrator.updateProject({ params: { projectId }, query: {}, body: { path } })
  expect(moved).toMatchObject({ path, problem: null })
  const status = execFileSync('git', ['-c', 'safe.directory=*', 'status', '--short'], {
    cwd: worktreePath ?? '',
    encoding: 'utf8',
  })
  expect(status).toBe('?? note.txt\n')
  await send('Look again')
  await rested(4)

  mock.verify()
  await close()
})
