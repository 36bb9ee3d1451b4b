import type { Frame } from '@matrix/protocol/http'

/** A frame on its way to many readers: what their filters ask about, and its bytes, written once. */
export type Entry = {
  position: number
  kind: Frame['kind']
  projectId: string | null
  taskId: string | null
  /** Only of `event` frames. */
  seq: number
  bytes: Buffer
  /** Where the frame of the same task before this one is, as far as it was still known. */
  before: number | undefined
}

export type Filter = { projectId?: string | undefined; taskId?: string | undefined }

export function toEntry(frame: Frame, epoch: string, position: number): Entry {
  const { projectId, taskId } = placeOf(frame)
  const seq = frame.kind === 'event' ? frame.seq : 0
  const bytes = formatFrame(frame, `${epoch}.${position}`)
  return { position, kind: frame.kind, projectId, taskId, seq, bytes, before: undefined }
}

/** One server-sent event. JSON holds no line break, so it is always one line of data. */
export function formatFrame(frame: Frame, cursor?: string): Buffer {
  return Buffer.from(`${cursor ? `id: ${cursor}\n` : ''}data: ${JSON.stringify(frame)}\n\n`)
}

/** Whoever asks for a project is also told of settings that hold for all. */
export function matches({ projectId, taskId }: Filter, entry: Entry): boolean {
  if (taskId !== undefined) return entry.taskId === taskId
  return projectId === undefined || entry.projectId === projectId || entry.projectId === null
}

function placeOf(frame: Frame): { projectId: string | null; taskId: string | null } {
  switch (frame.kind) {
    case 'event':
    case 'live':
    case 'task_removed':
      return { projectId: frame.projectId, taskId: frame.taskId }
    case 'task':
      return { projectId: frame.projectId, taskId: frame.task.id }
    case 'attention':
      return { projectId: frame.attention.projectId, taskId: frame.attention.taskId }
    case 'project':
      return { projectId: frame.project.id, taskId: null }
    case 'project_removed':
    case 'attention_over':
    case 'config':
      return { projectId: frame.projectId, taskId: null }
    case 'resync':
      return { projectId: null, taskId: null }
    default:
      return frame satisfies never
  }
}
