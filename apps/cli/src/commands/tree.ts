import { setTimeout as sleep } from 'node:timers/promises'
import { printableLine } from '@matrix/protocol'
import type { ProjectView, TaskView } from '@matrix/protocol/http'
import { awayText, noteConnection, printConnection } from '../connection-notes.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { interruptSignal } from '../interrupt.ts'
import { openLiveScreen } from '../live-screen.ts'
import { assertUsable, openProject, type Place, type PlaceOptions } from '../place.ts'
import { colorsFor, print, printJson, printJsonLine, terminalWidth } from '../terminal.ts'
import { formatTree, stateOf } from '../tree-lines.ts'
import { openTreeState, type TreeState } from '../tree-state.ts'

type TreeOptions = PlaceOptions & { watch?: boolean; all?: boolean; json?: boolean }

export async function tree(options: TreeOptions): Promise<ExitCode> {
  const place = await openProject(options)
  assertUsable(place.project)
  if (options.watch) return watchTree(place, options)
  const tasks = await place.client.listTasks({ projectId: place.project.id })
  if (options.json) printJson({ project: place.project, tasks })
  else print(draw(place.project, tasks, options).join('\n'))
  return exitCode.ok
}

function draw(project: ProjectView, tasks: readonly TaskView[], { all = false }: TreeOptions): string[] {
  return formatTree(project, tasks, { width: terminalWidth(), now: Date.now(), colors: colorsFor(process.stdout), all })
}

/** A terminal sees the tree change; a file or a program gets a line for every change. */
async function watchTree({ client, project }: Place, options: TreeOptions): Promise<ExitCode> {
  const signal = interruptSignal()
  const state = openTreeState(client, project)
  const show = process.stdout.isTTY && !options.json ? drawChanges(state, options, signal) : listChanges(state, options)
  const onConnection = noteConnection(show.away)
  for await (const frame of client.events({ projectId: project.id, signal, onConnection })) {
    if (await state.accept(frame)) show.changed()
  }
  show.close()
  return exitCode.interrupted
}

type Shown = { changed(): void; away(isAway: boolean): void; close(): void }

const FRAME_MS = 80

/** Many changes at once are one redraw; ages go on without any. */
function drawChanges(state: TreeState, options: TreeOptions, signal: AbortSignal): Shown {
  const screen = openLiveScreen(process.stdout)
  let isAway = false
  const redraw = () => {
    if (!state.isKnown()) return
    const lines = draw(state.project(), state.tasks(), options)
    screen.draw(isAway ? [...lines, '', awayText] : lines)
  }
  const clock = setInterval(redraw, 1000)
  let isDue = false
  return {
    changed() {
      if (isDue) return
      isDue = true
      sleep(FRAME_MS, undefined, { signal }).then(
        () => {
          isDue = false
          redraw()
        },
        () => undefined,
      )
    },
    away(now) {
      isAway = now
      redraw()
    },
    close() {
      clearInterval(clock)
      redraw()
      screen.close()
    },
  }
}

function listChanges(state: TreeState, { json }: TreeOptions): Shown {
  const before = new Map<string, string>()
  return {
    changed() {
      for (const task of state.tasks()) {
        const now = stateOf(task)
        if (before.get(task.id) === now) continue
        if (json)
          printJsonLine({
            at: new Date().toISOString(),
            taskId: task.id,
            title: task.title,
            state: now,
            costUsd: task.costUsd,
          })
        else print(`${new Date().toISOString()}  ${task.id}  ${now.padEnd(11)}  ${printableLine(task.title)}`)
        before.set(task.id, now)
      }
    },
    away: printConnection,
    close: () => undefined,
  }
}
