import { MatrixError, printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { findTask, openProject, type PlaceOptions } from '../place.ts'
import { shortId } from '../short-id.ts'
import { formatTable } from '../table.ts'
import { print, printJson, terminalWidth } from '../terminal.ts'

type Options = PlaceOptions & { to?: string; close?: boolean; json?: boolean }

/** Forwards a port of a task's sandbox to this machine, or lists what is forwarded. */
export async function forward(name: string | undefined, port: string | undefined, options: Options): Promise<ExitCode> {
  const place = await openProject(options)
  const { client, project } = place
  if (name === undefined || port === undefined) return list(place, options)
  const { id: taskId } = findTask(await client.listTasks({ projectId: project.id }), name)
  const body = { port: readPort(port), ...(options.to === undefined ? {} : { to: readPort(options.to) }) }
  if (options.close) {
    await client.closeForward({ projectId: project.id, forwardId: `${taskId}-${body.port}` })
    if (!options.json) print(`Port ${body.port} is no longer forwarded.`)
    return exitCode.ok
  }
  const opened = await client.openForward({ projectId: project.id, taskId, body })
  if (options.json) printJson(opened)
  else print(`${opened.url} leads to port ${opened.port} in the sandbox, until that ends.`)
  return exitCode.ok
}

async function list(
  { client, project }: Awaited<ReturnType<typeof openProject>>,
  { json }: Options,
): Promise<ExitCode> {
  const forwards = await client.listForwards({ projectId: project.id })
  if (json) printJson(forwards)
  else if (forwards.length === 0) print('No port is forwarded.')
  else {
    const rows = forwards.map(({ taskId, port, url }) => [shortId(taskId), String(port), url])
    print(
      formatTable([{ heading: 'task' }, { heading: 'port' }, { heading: 'address' }], rows, terminalWidth()).join('\n'),
    )
  }
  return exitCode.ok
}

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new MatrixError('REQUEST_INVALID', `"${printableLine(text)}" is not a port.`, {
    hint: 'Write a whole number from 1 to 65535.',
  })
}
