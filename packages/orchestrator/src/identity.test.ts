import { execFileSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { openTestOrchestrator } from './node-orchestrator.testing.ts'

test('without a name for commits no work starts, the sender is told how to set one, and then it does', async () => {
  const home = process.env.HOME
  const office = await openTestOrchestrator({ agent: 'solo' })
  onTestFinished(async () => {
    process.env.HOME = home
    await office.close()
  })
  // An empty HOME, as on a machine where git was never set up.
  process.env.HOME = office.dataDirectory
  const git = (...args: string[]) => execFileSync('git', args, { cwd: office.repository })
  git('config', '--remove-section', 'user')
  const { orchestrator, projectId, rootId, mock } = office
  const params = { projectId, taskId: rootId }
  const send = (text: string) => orchestrator.sendMessage({ params, query: {}, body: { text } })
  const task = () => orchestrator.getTask({ params, query: {}, body: undefined })

  const { waitsFor } = await send('Begin')
  await expect.poll(async () => (await task()).problem?.code).toBe('GIT_IDENTITY_MISSING')
  expect(waitsFor).toMatchObject({ code: 'GIT_IDENTITY_MISSING', hint: expect.stringContaining('git config --global') })
  expect(mock.requests).toEqual([])

  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.com')
  expect((await send('Begin again')).waitsFor).toBeNull()
  await expect.poll(() => mock.requests.length).toBeGreaterThan(0)
})
