import { join } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { findHostRule } from '@matrix/tool-manager'
import * as z from 'zod'
import type { Config, ConfigProject } from './config/config.ts'
import type { World } from './world.ts'

/** For how long an answer counts: a while, as long as the task, or for the whole project. */
export type AccessScope = 'once' | 'task' | 'always'

/** Which hosts the tools of a project's tasks reach. Files are asked each time, so that an answer or an edit counts at once. */
export type HostAccess = {
  list(taskId: string | undefined): Promise<string[]>
  allow(taskId: string, host: string, scope: AccessScope): Promise<void>
}

/** What "once" means, since nobody can tell how many connections one command makes. */
export const ONCE_MS = 10 * 60_000

const Grants = z.array(z.object({ taskId: z.string(), host: z.string(), until: z.number().nullable() }))
type Grant = z.infer<typeof Grants>[number]

export type HostAccessOptions = {
  project: ConfigProject
  config: Config
  /** The project's own folder in the data directory. */
  directory: string
}

export function openHostAccess(world: Pick<World, 'files' | 'clock'>, options: HostAccessOptions): HostAccess {
  const { project, config, directory } = options
  const file = join(directory, 'hosts.json')
  let tail: Promise<unknown> = Promise.resolve()

  /** What cannot be read grants nothing. */
  async function inForce(): Promise<Grant[]> {
    const text = await world.files.read(file)
    const found = text === undefined ? undefined : Grants.safeParse(parse(text))
    return (found?.data ?? []).filter(({ until }) => until === null || until > world.clock.now())
  }

  async function grant(taskId: string, host: string, until: number | null): Promise<void> {
    const others = (await inForce()).filter((each) => each.taskId !== taskId || each.host !== host)
    await world.files.write(file, `${JSON.stringify([...others, { taskId, host, until }], null, 2)}\n`)
  }

  return {
    async list(taskId) {
      const { settings } = await config.resolve(project)
      const granted = taskId === undefined ? [] : (await inForce()).filter((each) => each.taskId === taskId)
      return [...settings.hosts, ...granted.map(({ host }) => host)]
    },
    allow(taskId, host, scope) {
      const until = scope === 'once' ? world.clock.now() + ONCE_MS : null
      const done = tail.then(() =>
        scope === 'always' ? config.addTo('hosts', host, { layer: 'local', project }) : grant(taskId, host, until),
      )
      tail = done.catch(() => {})
      return done
    },
  }
}

/** A host as settings have it, from what a user or a model writes for one, such as the address of a page. `*` is for users alone. */
export function parseHostEntry(text: string, { anyHost = false } = {}): string {
  const [, authority = ''] = /^(?:https?:\/\/)?(?:[^/@\s]*@)?([^/?#\s]+)(?:[/?#]\S*)?$/i.exec(text.trim()) ?? []
  const host = authority.toLowerCase().replace(/\.$/, '')
  if ((anyHost || host !== '*') && findHostRule(host)) return host
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not a host`, {
    hint: 'Write it as registry.example.com, *.example.com or db.example.com:5432.',
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
