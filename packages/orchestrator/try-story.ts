import { mkdtemp, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { openMockProvider } from '@matrix/mock-provider'
import { buildStory, createSample, goal } from '../demo/src/index.ts'
import { openNodeOrchestrator } from './src/index.ts'

const data = process.env.DATA ?? (await realpath(await mkdtemp(join(tmpdir(), 'story-'))))
const mock = await openMockProvider({ playbook: buildStory() })
const repository = await createSample(join(data, 'demo'))
const o = await openNodeOrchestrator({ dataDirectory: data, mock: { baseUrl: mock.url, isDemo: () => true }, log: (e) => console.log('LOG', e) })
const t0 = Date.now()
o.subscribe((f) => {
  if (f.kind === 'event') {
    const e = f.event as any
    if (['tool_call', 'tool_result', 'assistant_text', 'error', 'orchestration_completed'].includes(e.type))
      console.log(((Date.now() - t0) / 1000).toFixed(1), f.taskId.slice(-4), e.type, JSON.stringify(e.input ?? e.content?.[0]?.text ?? e.text ?? e.message ?? e.output).slice(0, 160))
  }
  if (f.kind === 'attention') {
    const a = f.attention
    console.log('ATTENTION', a.kind, a.text.slice(0, 100))
    if (a.kind === 'approval') void o.answerApproval({ params: { projectId: f.attention.projectId, approvalId: a.id }, query: {}, body: { decision: 'allow', scope: 'always', inputDigest: a.approval!.inputDigest } })
    if (a.kind === 'question') setTimeout(() => void o.answerQuestion({ params: { projectId: a.projectId, questionId: a.id }, query: {}, body: { answer: '€' } }), 500)
  }
})
const projects = await o.listProjects({ params: {}, query: {}, body: undefined })
console.log(await o.resume())
let project = projects[0]
if (!project) {
  project = await o.registerProject({ params: {}, query: {}, body: { path: repository } })
  await o.setConfig({ params: { layer: 'local', key: 'agent' }, query: { projectId: project.id }, body: { value: 'solo' } })
}
const p = { projectId: project.id }
await o.sendMessage({ params: { ...p, taskId: project.rootTaskId! }, query: {}, body: { text: goal, requestId: 'the-goal-1' } })
for (;;) {
  await new Promise((r) => setTimeout(r, 200))
  const tasks = await o.listTasks({ params: p, query: {}, body: undefined })
  if (tasks[0].status === 'passed' || Date.now() - t0 > 60000) {
    console.log(tasks.map((t) => `${t.status} ${t.activity} ${t.title} $${t.treeCostUsd.toFixed(4)} ${t.branch}`).join('\n'))
    break
  }
}
mock.verify()
console.log(data)
await o.close()
await mock.close()
