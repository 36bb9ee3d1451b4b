import { execFileSync } from 'node:child_process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator } from './node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

test('an agent of a partial clone is told that files of earlier commits may be missing, and how they come back', async () => {
  const { mock, repository, projectId, rootId, reopen, close } = await openTestOrchestrator()
  onTestFinished(close)
  const { orchestrator } = await reopen(async () => {
    execFileSync('git', ['config', 'remote.origin.promisor', 'true'], { cwd: repository })
  })
  const params = { projectId, taskId: rootId }
  await orchestrator.sendMessage({ params, query: {}, body: { text: 'Go' } })
  await vi.waitFor(() => expect(mock.requests).not.toEqual([]), { timeout: 60_000 })

  expect(JSON.stringify(mock.requests[0])).toMatch(
    /cloned with a filter.*unable to read.*git fetch --refetch --no-filter/,
  )
})
