import { execFileSync } from 'node:child_process'
import { builtinTools, loopTools } from '@matrix/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator } from '../node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

test('an agent that leaves its branch is told at once, cannot end there, and ends once it is back with its commits', async () => {
  const office = await openTestOrchestrator()
  onTestFinished(() => office.close())
  const { orchestrator, mock, projectId, rootId: taskId, repository } = office
  const results: string[] = []
  orchestrator.subscribe((frame) => {
    if (frame.kind !== 'event' || frame.event.type !== 'tool_result') return
    results.push((frame.event.content as { text?: string }[]).map(({ text }) => text).join('\n'))
  })
  const bash = (command: string) => ({ toolCalls: [{ name: builtinTools.bash, input: { command } }] })
  const done = { toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }
  const commit = 'git -c user.name=Ada -c user.email=ada@example.com commit -qm'
  mock.play({
    match: 'Go',
    turns: [
      bash(`git switch -qc tmp && echo x > x && git add x && ${commit} "add x"`),
      bash('git status --short'),
      done,
      bash('git switch -q - && git merge -q tmp && git log -1 --format=%s'),
      done,
    ],
  })
  await office.send('Go')

  const look = { params: { projectId, taskId }, query: {}, body: undefined }
  await vi.waitFor(
    async () => expect(await orchestrator.getTask(look)).toMatchObject({ status: 'passed', problem: null }),
    {
      timeout: 90_000,
      interval: 100,
    },
  )
  const { branch } = await orchestrator.getTask(look)
  const [left, looked, refused, back] = results
  expect(left).toContain(`The worktree is on branch tmp, not on the task's branch ${branch}`)
  expect(looked).not.toContain('tmp')
  expect(refused).toContain(`git switch ${branch}`)
  expect(back).toContain('add x')
  const log = execFileSync('git', ['log', '--format=%s', branch ?? ''], { cwd: repository, encoding: 'utf8' })
  expect(log).toBe('add x\nfirst\n')
})
