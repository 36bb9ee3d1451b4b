import type { TaskView } from '@matrix/protocol/http'
import { noteConnection } from '../connection-notes.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { interruptSignal } from '../interrupt.ts'
import { assertUsable, openProject, openTask, type Place, type PlaceOptions, type TaskPlace } from '../place.ts'
import { printJsonLine } from '../terminal.ts'
import { openTranscript } from '../transcript.ts'
import { stateOf } from '../tree-lines.ts'

type WatchOptions = PlaceOptions & { verbose?: boolean; json?: boolean }

/** What happens from now on: in one task, or in all of a project. */
export async function watch(name: string | undefined, options: WatchOptions): Promise<ExitCode> {
  const shown = { verbose: options.verbose ?? false, json: options.json ?? false }
  if (name === undefined) {
    const place = await openProject(options)
    assertUsable(place.project)
    return followProject(place, shown)
  }
  const place = await openTask(name, options)
  return followTask(place, { ...shown, after: place.task.lastSeq })
}

type Following = { verbose: boolean; json: boolean }

/** Goes on until it is interrupted. */
export async function followTask(
  { client, project, task, tasks }: TaskPlace,
  { verbose, json, after }: Following & { after: number },
): Promise<ExitCode> {
  const titles = byId(tasks)
  const transcript = openTranscript({ verbose, isMany: false, titleOf: (id) => titles.get(id)?.title })
  const filter = { projectId: project.id, taskId: task.id, after, signal: interruptSignal() }
  for await (const frame of client.events({ ...filter, onConnection: noteConnection() })) {
    if (json) printJsonLine(frame)
    else if (frame.kind === 'event' && frame.taskId === task.id) transcript.event(frame.taskId, frame.event)
    else if (frame.kind === 'live' && frame.taskId === task.id) transcript.live(frame.taskId, frame.event)
    else if (frame.kind === 'task') titles.set(frame.task.id, frame.task)
  }
  transcript.close()
  return exitCode.interrupted
}

async function followProject(place: Place, { verbose, json }: Following): Promise<ExitCode> {
  const titles = byId(await place.client.listTasks({ projectId: place.project.id }))
  const transcript = openTranscript({ verbose, isMany: true, titleOf: (id) => titles.get(id)?.title })
  const filter = { projectId: place.project.id, signal: interruptSignal() }
  for await (const frame of place.client.events({ ...filter, onConnection: noteConnection() })) {
    if (json) printJsonLine(frame)
    else if (frame.kind === 'event') transcript.event(frame.taskId, frame.event)
    else if (frame.kind === 'task') {
      const before = titles.get(frame.task.id)
      const now = stateOf(frame.task)
      if (!before || stateOf(before) !== now)
        transcript.note(frame.task.id, before ? `${stateOf(before)} → ${now}` : now)
      titles.set(frame.task.id, frame.task)
    }
  }
  return exitCode.interrupted
}

function byId(tasks: readonly TaskView[]): Map<string, TaskView> {
  return new Map(tasks.map((task) => [task.id, task]))
}
