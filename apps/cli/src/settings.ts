import { MatrixError } from '@matrix/protocol'
import type { ConfigLayer, ConfigView } from '@matrix/protocol/http'
import { connect, openProject, type PlaceOptions } from './place.ts'

/** The settings that are in force here, and how to change them. */
export type Settings = {
  view: ConfigView
  isInProject: boolean
  set(layer: ConfigLayer, key: string, value: unknown): Promise<ConfigView>
  unset(layer: ConfigLayer, key: string): Promise<ConfigView>
}

/** Outside of any project there are still the global settings. */
export async function openSettings(options: PlaceOptions): Promise<Settings> {
  const { client, filter } = await scopeOf(options)
  return {
    view: await client.readConfig(filter),
    isInProject: 'projectId' in filter,
    set: (layer, key, value) => client.setConfig({ layer, key, ...filterFor(layer, filter), body: { value } }),
    unset: (layer, key) => client.unsetConfig({ layer, key, ...filterFor(layer, filter) }),
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

function filterFor(layer: ConfigLayer, filter: Filter): Filter {
  if (layer !== 'global' && filter.projectId === undefined)
    throw new MatrixError('REQUEST_INVALID', `There is no project here whose ${layer} settings could be changed.`, {
      hint: 'Go into its repository, or give --project.',
    })
  return filter
}
