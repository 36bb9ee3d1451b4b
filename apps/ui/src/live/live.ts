import type { Attention, Frame, ProjectView, TaskView } from '@matrix/protocol/http'
import { create } from 'zustand'
import { useShallow } from 'zustand/react/shallow'

/**
 * How far this page can be believed: `behind` is reading again what it missed, `reconnecting` has lost the daemon a moment ago,
 * and `offline` for longer. What is shown in the last three may be old.
 */
export type Health = 'connecting' | 'live' | 'behind' | 'reconnecting' | 'offline'

type Tasks = Readonly<Record<string, TaskView>>

export type World = {
  projects: Readonly<Record<string, ProjectView>>
  /** By project, then by task: two clones of one repository may hold the same task. */
  tasks: Readonly<Record<string, Tasks>>
  attention: Readonly<Record<string, Attention>>
}

type Live = World & {
  health: Health
  /** Whether the lists have been read once; before that, empty means unknown. */
  isLoaded: boolean
  lostAt: number | null
}

const emptyWorld: World = { projects: {}, tasks: {}, attention: {} }

/** What the daemon has told this page. Written by the feed alone. */
export const useLive = create<Live>(() => ({ ...emptyWorld, health: 'connecting', isLoaded: false, lostAt: null }))

const noTasks: Tasks = {}

export function useProject(projectId: string | undefined): ProjectView | undefined {
  return useLive((live) => (projectId ? live.projects[projectId] : undefined))
}

/** All projects, oldest first. */
export function useProjects(): ProjectView[] {
  return useLive(useShallow((live) => Object.values(live.projects).sort(byRegistration)))
}

export function useTasks(projectId: string | undefined): Tasks {
  return useLive((live) => (projectId && live.tasks[projectId]) || noTasks)
}

export function useTask(projectId: string | undefined, taskId: string | undefined): TaskView | undefined {
  return useLive((live) => (projectId && taskId ? live.tasks[projectId]?.[taskId] : undefined))
}

/** What a task is called, in whichever project it is; for words that name it by its id. */
export function titleOf(taskId: string): string | undefined {
  for (const tasks of Object.values(useLive.getState().tasks)) if (tasks[taskId]) return tasks[taskId].title
  return undefined
}

/** Everything that waits for a person, the oldest first. */
export function useAttention(): Attention[] {
  return useLive(useShallow((live) => Object.values(live.attention).sort(bySince)))
}

function byRegistration(one: ProjectView, other: ProjectView): number {
  return one.registeredAt.localeCompare(other.registeredAt)
}

function bySince(one: Attention, other: Attention): number {
  return one.since.localeCompare(other.since)
}

/** The world after these frames. Parts that no frame concerns stay the same objects, so nothing that shows them is drawn again. */
export function applyFrames(world: World, frames: readonly Frame[]): World {
  const next = openDraft(world)
  for (const frame of frames) applyFrame(next, frame)
  return next.close()
}

function applyFrame(draft: Draft, frame: Frame): void {
  switch (frame.kind) {
    case 'task':
      draft.tasksOf(frame.projectId)[frame.task.id] = frame.task
      return
    case 'task_removed':
      delete draft.tasksOf(frame.projectId)[frame.taskId]
      return
    case 'project':
      draft.projects()[frame.project.id] = frame.project
      return
    case 'project_removed':
      delete draft.projects()[frame.projectId]
      draft.forgetTasks(frame.projectId)
      return
    case 'attention':
      draft.attention()[frame.attention.id] = frame.attention
      return
    case 'attention_over':
      delete draft.attention()[frame.id]
      return
    case 'event':
    case 'live':
    case 'config':
    case 'resync':
      return
    default:
      // A newer daemon may say more; what is not understood changes nothing.
      frame satisfies never
  }
}

type Draft = ReturnType<typeof openDraft>

/** Copies each part on its first change only: a batch of a hundred frames costs one copy. */
function openDraft(world: World) {
  let projects: Record<string, ProjectView> | undefined
  let attention: Record<string, Attention> | undefined
  let tasks: Record<string, Tasks> | undefined
  const touched: Record<string, Record<string, TaskView>> = {}

  const allTasks = () => {
    tasks ??= { ...world.tasks }
    return tasks
  }

  return {
    projects: () => {
      projects ??= { ...world.projects }
      return projects
    },
    attention: () => {
      attention ??= { ...world.attention }
      return attention
    },
    tasksOf: (projectId: string) => {
      const copy = touched[projectId] ?? { ...world.tasks[projectId] }
      touched[projectId] = copy
      allTasks()[projectId] = copy
      return copy
    },
    forgetTasks: (projectId: string) => {
      delete touched[projectId]
      delete allTasks()[projectId]
    },
    close: (): World => ({
      projects: projects ?? world.projects,
      attention: attention ?? world.attention,
      tasks: tasks ?? world.tasks,
    }),
  }
}
