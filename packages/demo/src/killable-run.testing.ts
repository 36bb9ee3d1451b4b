// A process that plays a story with the real orchestrator, and kills itself where it is told to.
import { openNodeOrchestrator } from '@matrix/orchestrator'
import type { Frame } from '@matrix/protocol/http'

/** What one run of the process is given, as JSON in its first argument. */
export type KillableRun = {
  dataDirectory: string
  repository: string
  mockUrl: string
  goal: string
  /** Dies so long after it has stored so many events; lives to the end without it. */
  kill?: { afterEvents: number; delayMs: number }
}

const run: KillableRun = JSON.parse(process.argv[2] ?? '{}')

let stored = 0
function dieIfDue(): void {
  if (!run.kill || stored !== run.kill.afterEvents) return
  if (run.kill.delayMs === 0) process.kill(process.pid, 'SIGKILL')
  else setTimeout(() => process.kill(process.pid, 'SIGKILL'), run.kill.delayMs)
}
dieIfDue()

const orchestrator = await openNodeOrchestrator({
  dataDirectory: run.dataDirectory,
  mock: { baseUrl: run.mockUrl, isDemo: () => true },
  log: (entry) => say(`log ${JSON.stringify(entry)}`),
})
const none = { query: {}, body: undefined }

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** The person of the story: allows everything, and answers every question in the same way. */
async function attend(frame: Frame): Promise<void> {
  if (frame.kind !== 'attention') return
  const { kind, id, projectId, approval } = frame.attention
  if (kind === 'approval')
    await orchestrator.answerApproval({
      params: { projectId, approvalId: id },
      query: {},
      body: { decision: 'allow', scope: 'always', inputDigest: approval?.inputDigest ?? '' },
    })
  if (kind === 'question')
    await orchestrator.answerQuestion({ params: { projectId, questionId: id }, query: {}, body: { answer: '€' } })
}

const ended = new Promise<void>((resolve) => {
  orchestrator.subscribe((frame) => {
    if (frame.kind === 'event') {
      stored += 1
      dieIfDue()
    }
    // A frame is heard in the middle of things; a person answers later.
    setImmediate(() => void attend(frame).catch((error) => say(`answer refused: ${error}`)))
    if (frame.kind === 'task' && frame.task.parentId === null && frame.task.status === 'passed') resolve()
  })
})

const resumed = await orchestrator.resume()
say(`resumed ${JSON.stringify(resumed)}`)
const [known] = await orchestrator.listProjects({ params: {}, ...none })
const body = { path: run.repository, setup: { choice: 'none' as const } }
const project = known ?? (await orchestrator.registerProject({ params: {}, query: {}, body }))
await orchestrator.setConfig({
  params: { layer: 'local', key: 'agent' },
  query: { projectId: project.id },
  body: { value: 'solo' },
})
await orchestrator.sendMessage({
  params: { projectId: project.id, taskId: project.rootTaskId ?? '' },
  query: {},
  body: { text: run.goal, requestId: 'the-goal' },
})
const tasks = await orchestrator.listTasks({ params: { projectId: project.id }, ...none })
if (tasks[0]?.status !== 'passed') await ended
// What follows from the end is still on its way for a moment.
while (orchestrator.agents().working > 0) await new Promise((resolve) => setTimeout(resolve, 10))
say('ended')
await orchestrator.close()
process.exit(0)
