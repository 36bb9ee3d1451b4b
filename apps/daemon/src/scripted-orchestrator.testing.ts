import type { Orchestrator } from '@matrix/orchestrator'
import { type DurableEvent, MatrixError } from '@matrix/protocol'
import { type Frame, type Operation, routes } from '@matrix/protocol/http'

export const projectId = '01K00000000000000000000000'
export const taskId = '01K00000000000000000000001'

export type ScriptedOrchestrator = Orchestrator & {
  /** Every operation that was called, with what it was given. */
  calls: { operation: string; request: unknown }[]
  answer(operation: Operation, answer: unknown): void
  fail(operation: Operation, error: Error): void
  /** Appends to a task's session and tells everyone, as the real one does. */
  say(text: string, task?: string): void
  /** Appends without telling yet; the answer tells. */
  append(text: string, task?: string): () => void
  /** Makes every reader of a log wait from now on; `begun` says that one does. */
  holdReads(): { begun: Promise<void>; release(): void }
  /** Starts the session anew, on another day. */
  reset(task?: string): void
  emit(frame: Frame): void
  isClosed(): boolean
}

/** An orchestrator whose agents say what the test lets them say. */
export function scriptOrchestrator(): ScriptedOrchestrator {
  const listeners = new Set<(frame: Frame) => void>()
  const sessions = new Map<string, DurableEvent[]>()
  const answers = new Map<string, () => unknown>()
  const calls: ScriptedOrchestrator['calls'] = []
  let isClosed = false
  let day = 1
  let held = Promise.resolve()
  let startRead = () => {}

  const emit = (frame: Frame) => {
    for (const listener of listeners) listener(frame)
  }
  const append = (text: string, task = taskId) => {
    const events = sessions.get(task) ?? []
    sessions.set(task, events)
    const event = { ...said(text, task), ts: new Date(Date.UTC(2026, 0, day)).toISOString() }
    const seq = events.push(event)
    return () => emit({ kind: 'event', projectId, taskId: task, seq, event })
  }
  const operations = Object.keys(routes).map((operation) => [
    operation,
    async (request: unknown) => {
      calls.push({ operation, request })
      return answers.get(operation)?.() ?? null
    },
  ])

  return {
    ...(Object.fromEntries(operations) as Orchestrator),
    async readEvents({ params, query: { after = 0, limit } }) {
      startRead()
      await held
      const events = sessions.get(params.taskId)
      if (!events) throw new MatrixError('TASK_UNKNOWN', `No task ${params.taskId}`)
      // As from a disk: later, and only what was there when it was read.
      const page = events.slice(after, after + limit).map((event, index) => ({ seq: after + index + 1, event }))
      const lastSeq = events.length
      await new Promise((resolve) => setImmediate(resolve))
      return { events: page, more: after + page.length < lastSeq, lastSeq }
    },
    resume: async () => ({ waiting: 0, continued: 0, ended: 0, problems: [] }),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    agents: () => ({ live: 0, working: 0 }),
    sandbox: () => ({ isActive: true, reason: null }),
    provider: () => ({ kind: 'mock', model: null }),
    close: async () => {
      isClosed = true
    },
    calls,
    answer: (operation, answer) => void answers.set(operation, () => answer),
    fail: (operation, error) =>
      void answers.set(operation, () => {
        throw error
      }),
    say: (text, task) => append(text, task)(),
    append,
    holdReads() {
      const [begin, hold] = [openPromise(), openPromise()]
      held = hold.promise
      startRead = begin.resolve
      return { begun: begin.promise, release: hold.resolve }
    },
    reset(task = taskId) {
      sessions.set(task, [])
      day += 1
    },
    emit,
    isClosed: () => isClosed,
  }
}

function openPromise(): { promise: Promise<void>; resolve(): void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

export function said(text: string, task = taskId): DurableEvent {
  return { type: 'assistant_text', taskId: task, ts: '2026-01-01T00:00:00.000Z', text }
}

export function delta(text: string, task = taskId): Frame {
  const event = { type: 'text_delta', taskId: task, ts: '2026-01-01T00:00:00.000Z', text } as const
  return { kind: 'live', projectId, taskId: task, event }
}
