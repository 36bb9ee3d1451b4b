import { printableLine } from '@matrix/protocol'
import type { ListedHost } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, openProject, type PlaceOptions } from '../place.ts'
import { formatTable } from '../table.ts'
import { print, printJson, terminalWidth } from '../terminal.ts'

type Options = PlaceOptions & { global?: boolean; json?: boolean }

export async function listHosts(options: Options): Promise<ExitCode> {
  const { client, query } = await open(options)
  return show(await client.listHosts(query), options)
}

export async function addHosts(hosts: readonly string[], options: Options): Promise<ExitCode> {
  const { client, query } = await open(options)
  let listed: ListedHost[] = []
  for (const host of hosts) listed = await client.addHost({ ...query, body: { host } })
  return show(listed, options)
}

export async function removeHosts(hosts: readonly string[], options: Options): Promise<ExitCode> {
  const { client, query } = await open(options)
  let listed: ListedHost[] = []
  for (const host of hosts) listed = await client.removeHost({ ...query, host })
  return show(listed, options)
}

/** The list of the project, or with --global the one of all projects. */
async function open(options: Options) {
  if (options.global) return { client: await connect(), query: {} }
  const { client, project } = await openProject(options)
  return { client, query: { projectId: project.id } }
}

function show(hosts: readonly ListedHost[], { json }: Options): ExitCode {
  if (json) printJson(hosts)
  else if (hosts.length === 0) print('Commands reach no host. Add one with matrix hosts add <host>.')
  else {
    const rows = hosts.map(({ host, layer }) => [
      printableLine(host),
      layer === 'global' ? 'all projects' : 'this project',
    ])
    print(formatTable([{ heading: 'host' }, { heading: 'for' }], rows, terminalWidth()).join('\n'))
  }
  return exitCode.ok
}
