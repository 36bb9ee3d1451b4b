import { MatrixError } from '@matrix/protocol'
import type { ConfigLayer, ConfigView } from '@matrix/protocol/http'
import { dataFolder } from './data-folder.ts'
import { connect, openProject, type PlaceOptions } from './place.ts'

/** The settings that are in force here, and how to change them. */
export type Settings = {
  view: ConfigView
  isInProject: boolean
  set(layer: ConfigLayer, key: string, value: unknown): Promise<ConfigView>
  unset(layer: ConfigLayer, key: string): Promise<ConfigView>
}

/** Those of the project that the command is about; where there is none, or no daemon, those that hold for all. */
export async function openSettings(options: PlaceOptions): Promise<Settings> {
  try {
    return await settingsOfDaemon(options)
  } catch (error) {
    const isAlone = error instanceof MatrixError && error.code === 'DAEMON_UNREACHABLE' && options.project === undefined
    if (!isAlone) throw error
    return settingsOnDisk()
  }
}

async function settingsOfDaemon(options: PlaceOptions): Promise<Settings> {
  const { client, filter } = await scopeOf(options)
  return {
    view: await client.readConfig(filter),
    isInProject: filter.projectId !== undefined,
    set: async (layer, key, value) => {
      assertPlace(layer, filter)
      return client.setConfig({ layer, key, ...filter, body: { value } })
    },
    unset: async (layer, key) => {
      assertPlace(layer, filter)
      return client.unsetConfig({ layer, key, ...filter })
    },
  }
}

type Filter = { projectId?: string }

async function scopeOf(options: PlaceOptions) {
  try {
    const { client, project } = await openProject(options)
    return { client, filter: { projectId: project.id } as Filter }
  } catch (error) {
    const isElsewhere =
      error instanceof MatrixError && error.code === 'PROJECT_UNKNOWN' && options.project === undefined
    if (!isElsewhere) throw error
    return { client: await connect(), filter: {} as Filter }
  }
}

/** A key or a port is set before the daemon starts for the first time. */
async function settingsOnDisk(): Promise<Settings> {
  const { nodeWorld, openConfig } = await import('@matrix/orchestrator')
  const config = openConfig(nodeWorld(), { dataDirectory: dataFolder() })
  return {
    view: await config.view(),
    isInProject: false,
    set: async (layer, key, value) => {
      assertPlace(layer, {})
      await config.set(layer, key, value)
      return config.view()
    },
    unset: async (layer, key) => {
      assertPlace(layer, {})
      await config.unset(layer, key)
      return config.view()
    },
  }
}

function assertPlace(layer: ConfigLayer, { projectId }: Filter): void {
  if (layer === 'global' || projectId !== undefined) return
  throw new MatrixError('REQUEST_INVALID', `There is no project here whose ${layer} settings could be changed.`, {
    hint: 'Start the daemon and go into its repository, or give --project.',
  })
}
