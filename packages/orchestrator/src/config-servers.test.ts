import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Frame } from '@matrix/protocol/http'
import { expect, test, vi } from 'vitest'
import { notesServer } from './adapters/notes-server.testing.ts'
import { openTestOrchestrator } from './node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

const patience = { timeout: 60_000, interval: 100 }

test('a server that came with a repository is used after two yeses: one to start it at all, one to what it has', async () => {
  const { mock, orchestrator, projectId, rootId, repository, dataDirectory, send, close } = await openTestOrchestrator()
  await mkdir(join(repository, '.mxd'), { recursive: true })
  const settings = { mcpServers: { notes: { command: 'node', args: ['notes.mjs'] } } }
  await writeFile(join(repository, '.mxd/config.json'), JSON.stringify(settings))
  await writeFile(join(repository, 'notes.mjs'), notesServer('Reads a note.'))
  const asked: string[] = []
  orchestrator.subscribe((frame: Frame) => {
    if (frame.kind === 'attention' && frame.attention.approval) asked.push(frame.attention.approval.uri)
  })
  const waits = { toolCalls: [{ name: 'mcp__mxd__yield' }] }
  mock.play({ match: 'Wait for the others', turns: [waits, waits, waits, waits, waits] })
  mock.play({
    match: '# Reader',
    turns: [
      { toolCalls: [{ name: 'mcp__notes__read_note' }] },
      {
        assert: { toolResults: [/milk/] },
        toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Read it.' } }],
      },
    ],
  })
  await send('Wait for the others')
  const agreed = join(dataDirectory, 'projects', projectId, 'servers.lock.json')
  await vi.waitFor(() => expect(existsSync(agreed)).toBe(true), patience)
  expect(asked.filter((uri) => !uri.endsWith('setup_worktree.sh'))).toEqual([
    join(repository, '.mxd/config.json'),
    'mcpServers.notes',
  ])

  const body = { title: 'Reader', description: '', parentId: rootId }
  const { id: taskId } = await orchestrator.createTask({ params: { projectId }, query: {}, body })
  const params = { projectId, taskId }
  await orchestrator.sendMessage({ params, query: {}, body: { text: 'Begin' } })
  await vi.waitFor(
    async () =>
      expect(await orchestrator.getTask({ params, query: {}, body: undefined })).toMatchObject({ status: 'passed' }),
    patience,
  )
  expect(mock.problems).toEqual([])
  await close()
})
