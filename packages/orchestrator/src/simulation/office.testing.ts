import type { DurableEvent } from '@matrix/protocol'
import type { TaskView } from '@matrix/protocol/http'
import type { Orchestrator, Resumed } from '../operations.ts'
import { type Life, type Machine, openMachine, type Planted } from './simulated-machine.testing.ts'
import type { ModelAnswer } from './simulated-model.testing.ts'
import { readConversation, type Said } from './simulated-story.testing.ts'

/** What the agent of a task does next, by what was said so far. */
export type Script = (said: Said) => ModelAnswer

export type Office = {
  machine: Machine
  projectId: string
  rootId: string
  orchestrator(): Orchestrator
  settle(): Promise<void>
  /** Registers one more project. */
  register(path: string): Promise<{ projectId: string; rootId: string }>
  /** Approves messages from one project to another, as the user does in the settings. */
  approveMessages(toProjectId: string): Promise<void>
  say(text: string, to?: { projectId?: string; taskId?: string; requestId?: string }): Promise<string>
  /** Lets somebody act until everything rests, or until the machine dies after so many steps. Answers whether it died. */
  dieWithin(steps: number, act: () => Promise<unknown>, how?: 'kill' | 'power'): Promise<boolean>
  create(title: string, parentId?: string): Promise<string>
  task(taskId?: string): Promise<TaskView>
  events(taskId?: string): Promise<DurableEvent[]>
  /** The texts of the results that a session holds. */
  results(taskId?: string): Promise<string[]>
  restart(how?: 'kill' | 'power'): Promise<Resumed>
}

/** One project in a simulated world, with a person who can do everything that the daemon offers. */
export async function openOffice(
  scripts: Record<string, Script>,
  {
    settings,
    planted,
    model: modelName,
  }: { settings?: Record<string, unknown>; planted?: Planted; model?: string } = {},
): Promise<Office> {
  const machine = openMachine({
    seed: 1,
    model({ messages }) {
      const said = readConversation(messages)
      const [, title = ''] = /Task: (.+)/.exec(said.opening) ?? []
      return scripts[title]?.(said) ?? { text: 'I have nothing to do.' }
    },
    ...(settings && { settings }),
    ...(planted && { planted }),
    ...(modelName && { modelName }),
  })
  let life: Life = await machine.boot()
  await life.orchestrator.resume()
  const project = await life.orchestrator.registerProject({ params: {}, query: {}, body: { path: '/shop' } })
  const [projectId, rootId] = [project.id, project.rootTaskId ?? '']
  const none = { query: {}, body: undefined }

  const events = (taskId = rootId) => machine.readSession(taskId)
  return {
    machine,
    projectId,
    rootId,
    orchestrator: () => life.orchestrator,
    settle: () => life.settle(),
    async register(path) {
      const { id, rootTaskId } = await life.orchestrator.registerProject({ params: {}, query: {}, body: { path } })
      return { projectId: id, rootId: rootTaskId ?? '' }
    },
    async approveMessages(toProjectId) {
      const params = { layer: 'local' as const, key: 'messagesTo' }
      await life.orchestrator.setConfig({ params, query: { projectId }, body: { value: [toProjectId] } })
    },
    async dieWithin(steps, act, how = 'kill') {
      const work = () => act().then(() => life.settle())
      return (await machine.run(work, { at: machine.steps() + steps, how })) === 'died'
    },
    async say(text, { projectId: to = projectId, taskId = rootId, requestId } = {}) {
      const params = { projectId: to, taskId }
      const body = { text, ...(requestId && { requestId }) }
      return (await life.orchestrator.sendMessage({ params, query: {}, body })).messageId
    },
    async create(title, parentId = rootId) {
      const body = { title, description: '', parentId }
      return (await life.orchestrator.createTask({ params: { projectId }, query: {}, body })).id
    },
    task: (taskId = rootId) => life.orchestrator.getTask({ params: { projectId, taskId }, ...none }),
    events,
    async results(taskId) {
      return (await events(taskId)).flatMap((event) =>
        event.type === 'tool_result' ? [event.content.map((part) => ('text' in part ? part.text : '')).join('\n')] : [],
      )
    },
    async restart(how = 'kill') {
      machine.die(how)
      life = await machine.boot()
      return life.orchestrator.resume()
    },
  }
}
