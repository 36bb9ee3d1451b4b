import type { SessionEvent } from '@matrix/protocol/http'
import { readCount } from '../count.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openTask, type Place, type PlaceOptions } from '../place.ts'
import { shortId } from '../short-id.ts'
import { print, printJsonLine } from '../terminal.ts'
import { openTranscript } from '../transcript.ts'
import { followTask } from './watch.ts'

type LogsOptions = PlaceOptions & { last?: string; follow?: boolean; raw?: boolean; verbose?: boolean; json?: boolean }

const PAGE = 1000

/** The conversation of a task so far, and on request what is still to come. */
export async function logs(name: string, options: LogsOptions): Promise<ExitCode> {
  const last = options.last === undefined ? undefined : readCount(options.last)
  const place = await openTask(name, options)
  const { task, tasks } = place
  const isRaw = Boolean(options.raw || options.json)
  const events = await readAll(place, task.id, last)
  const verbose = options.verbose ?? false
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  const transcript = openTranscript({ verbose, isMany: false, titleOf: (id) => titles.get(id) })
  for (const one of events) {
    if (isRaw) printJsonLine(one)
    else transcript.event(task.id, one.event)
  }
  if (events.length === 0 && !isRaw)
    print(`Nothing was said yet. Start the task with: matrix send ${shortId(task.id)} "…"`)
  if (!options.follow) return exitCode.ok
  return followTask(place, { after: events.at(-1)?.seq ?? 0, verbose, json: isRaw })
}

/** From the end backwards, a page at a time, until there is enough. */
async function readAll(
  { client, project }: Place,
  taskId: string,
  last = Number.POSITIVE_INFINITY,
): Promise<SessionEvent[]> {
  const pages: SessionEvent[][] = []
  let wanted = last
  let before: number | undefined
  while (wanted > 0) {
    const limit = Math.min(PAGE, wanted)
    const page = await client.readEvents({ projectId: project.id, taskId, limit, ...(before ? { before } : {}) })
    pages.unshift(page.events)
    wanted -= page.events.length
    before = page.events[0]?.seq
    if (!page.more || before === undefined) break
  }
  return pages.flat()
}
