import { MatrixError, printableLine } from '@matrix/protocol'
import { readCount } from '../count.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, openProject, openTask, type PlaceOptions } from '../place.ts'
import { shortId } from '../short-id.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type SearchOptions = PlaceOptions & {
  task?: string
  everywhere?: boolean
  type?: string[]
  since?: string
  limit?: string
  json?: boolean
}

/** Looks words up in everything that was said and done. Like grep, finding nothing is 1. */
export async function search(words: readonly string[], options: SearchOptions): Promise<ExitCode> {
  const q = words.join(' ')
  if (q.trim() === '')
    throw new MatrixError('REQUEST_INVALID', 'There is nothing to look for.', { hint: 'Write a word or a few.' })
  const limit = options.limit === undefined ? {} : { limit: readCount(options.limit) }
  const types = options.type ? { types: options.type.join(',') } : {}
  const since = options.since === undefined ? {} : { since: readMoment(options.since) }
  const { client, filter, titleOf } = await scopeOf(options)
  const found = await client.search({ q, ...filter, ...limit, ...types, ...since })
  if (options.json) printJson(found)
  else {
    for (const hit of found.hits) print(formatHit(hit, titleOf(hit.taskId)))
    if (!found.complete) print('Not everything has been indexed yet: there may be more.')
    if (found.hits.length === 0) print('Nothing found.')
  }
  return found.hits.length > 0 ? exitCode.ok : exitCode.findings
}

async function scopeOf(options: SearchOptions) {
  if (options.everywhere) return { client: await connect(), filter: {}, titleOf: (id: string) => shortId(id) }
  if (options.task !== undefined) {
    const { client, project, task } = await openTask(options.task, options)
    return { client, filter: { projectId: project.id, taskId: task.id }, titleOf: () => task.title }
  }
  const { client, project } = await openProject(options)
  const titles = new Map((await client.listTasks({ projectId: project.id })).map(({ id, title }) => [id, title]))
  return { client, filter: { projectId: project.id }, titleOf: (id: string) => titles.get(id) ?? shortId(id) }
}

/** `2h`, `3d`, or a date. */
export function readMoment(text: string, now = Date.now()): string {
  const [, amount, unit] = /^(\d+)([mhdw])$/.exec(text) ?? []
  const minutes = { m: 1, h: 60, d: 1440, w: 10_080 }
  if (amount && unit)
    return new Date(now - Number(amount) * minutes[unit as keyof typeof minutes] * 60_000).toISOString()
  const moment = Date.parse(text)
  if (Number.isNaN(moment))
    throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is no moment.`, {
      hint: 'Write 30m, 2h, 3d, 1w, or a date such as 2026-01-31.',
    })
  return new Date(moment).toISOString()
}

type Hit = {
  taskId: string
  seq: number
  type: string
  ts: string
  snippet: { text: string; marks: [number, number][] }
}

function formatHit({ taskId, seq, type, ts, snippet }: Hit, title: string): string {
  const { bold, dim } = colorsFor(process.stdout)
  const place = dim(`${ts.slice(0, 16).replace('T', ' ')}  ${shortId(taskId)}:${seq}  ${type}`)
  return `${bold(printableLine(title))}  ${place}\n  ${markWords(snippet)}`
}

function markWords({ text, marks }: Hit['snippet']): string {
  const { yellow } = colorsFor(process.stdout)
  let at = 0
  const parts = marks.map(([from, to]) => {
    const part = `${printableLine(text.slice(at, from))}${yellow(printableLine(text.slice(from, to)))}`
    at = to
    return part
  })
  return `${parts.join('')}${printableLine(text.slice(at))}`
}
