import type { Client } from '@matrix/client'
import type { Frame, ProjectView, TaskView } from '@matrix/protocol/http'

/** A project's tree, kept up to date from the stream. */
export type TreeState = {
  /** Answers whether the frame changed anything that can be seen. */
  accept(frame: Frame): Promise<boolean>
  isKnown(): boolean
  project(): ProjectView
  tasks(): TaskView[]
}

export function openTreeState(client: Pick<Client, 'listTasks' | 'listProjects'>, start: ProjectView): TreeState {
  let project = start
  let tasks: Map<string, TaskView> | undefined

  const readAgain = async () => {
    const [list, projects] = await Promise.all([client.listTasks({ projectId: start.id }), client.listProjects()])
    tasks = new Map(list.map((task) => [task.id, task]))
    project = projects.find(({ id }) => id === start.id) ?? project
  }

  return {
    async accept(frame) {
      if (frame.kind === 'resync' || !tasks) {
        await readAgain()
        return true
      }
      if (frame.kind === 'task' && frame.projectId === start.id) tasks.set(frame.task.id, frame.task)
      else if (frame.kind === 'task_removed') tasks.delete(frame.taskId)
      else if (frame.kind === 'project' && frame.project.id === start.id) project = frame.project
      else return false
      return true
    },
    isKnown: () => tasks !== undefined,
    project: () => project,
    tasks: () => inOrder([...(tasks?.values() ?? [])]),
  }
}

/** Parents before their children, as the list of the daemon has them. */
function inOrder(tasks: readonly TaskView[]): TaskView[] {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const walk = (task: TaskView): TaskView[] => [
    task,
    ...task.children.flatMap((id) => byId.get(id) ?? []).flatMap(walk),
  ]
  return tasks.filter(({ parentId }) => parentId === null || !byId.has(parentId)).flatMap(walk)
}
