import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loopTools } from '@matrix/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator } from '../node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 60_000 })

const patience = { timeout: 45_000, interval: 50 }

test('an agent is told where it is, what people wrote for agents, and what is remembered, committed or not', async () => {
  const office = await openTestOrchestrator()
  onTestFinished(() => office.close())
  const { repository, projectId, rootId: taskId } = office
  await writeFile(join(repository, 'AGENTS.md'), 'Run make check, see @docs/style.md')
  await mkdir(join(repository, 'docs'))
  await writeFile(join(repository, 'docs/style.md'), 'Two spaces.')
  await mkdir(join(repository, '.mxd'), { recursive: true })
  await writeFile(join(repository, '.mxd/memory.md'), '- The cart is slow.')
  const done = { name: loopTools.done, input: { status: 'passed', summary: 'Read.' } }
  office.mock.play({ match: 'Go', turns: [{ toolCalls: [done] }] })
  await office.send('Go')
  await vi.waitFor(() => expect(office.mock.requests).toHaveLength(1), patience)

  const { messages } = JSON.parse(office.mock.requests[0]?.body ?? '') as { messages: unknown }
  const told = JSON.stringify(messages)
  expect(told).toMatch(/# Environment\\n- .*the shell is bash\. Today is \d{4}-\d\d-\d\d\./)
  expect(told).toContain('Run make check')
  expect(told).toContain('Two spaces.')
  expect(told).toContain("Not committed: from the user's checkout. Preloaded, do not read again)\\n- The cart is slow.")

  const look = { params: { projectId, taskId }, query: {}, body: undefined }
  expect((await office.orchestrator.getTask(look)).instructions).toEqual([
    { path: 'AGENTS.md', origin: 'checkout', notes: [] },
    { path: 'docs/style.md', origin: 'checkout', notes: [] },
  ])
})
