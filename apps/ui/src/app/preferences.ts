import { create } from 'zustand'
import { persist } from 'zustand/middleware'

export type OpenTab = { projectId: string; taskId: string; isPinned: boolean }

export type TourFact = 'sawTask' | 'sawQuestion' | 'answered' | 'sawReview' | 'sawOffer' | 'merged'

type Preferences = {
  tabs: readonly OpenTab[]
  /** Folders and tasks whose children are hidden, by task id. */
  collapsed: Readonly<Record<string, true>>
  favourites: Readonly<Record<string, true>>
  isSidebarHidden: boolean
  wantsNotifications: boolean
  /** The project whose tree the sidebar shows. */
  projectId: string | null
  isTourDone: boolean
  /** What somebody has seen or done of the demo. */
  tour: Partial<Record<TourFact, true>>
}

/** What this browser remembers about how somebody likes to look at things. Nothing of it is known to the daemon. */
export const usePreferences = create<Preferences>()(
  persist(
    (): Preferences => ({
      tabs: [],
      collapsed: {},
      favourites: {},
      isSidebarHidden: false,
      wantsNotifications: false,
      projectId: null,
      isTourDone: false,
      tour: {},
    }),
    { name: 'matrix.preferences', version: 1 },
  ),
)

const { setState: set, getState: get } = usePreferences

export function toggleCollapsed(taskId: string): void {
  set(({ collapsed }) => ({ collapsed: toggled(collapsed, taskId) }))
}

export function rememberTour(fact: TourFact): void {
  if (!get().tour[fact]) set(({ tour }) => ({ tour: { ...tour, [fact]: true } }))
}

export function toggleFavourite(taskId: string): void {
  set(({ favourites }) => ({ favourites: toggled(favourites, taskId) }))
}

function toggled(names: Readonly<Record<string, true>>, name: string): Record<string, true> {
  const { [name]: had, ...others } = names
  return had ? others : { ...others, [name]: true }
}

/** A task that is only looked at takes the place of the last one that was; one that is pinned stays until it is closed. */
export function openTab(tab: Omit<OpenTab, 'isPinned'>): void {
  const { tabs } = get()
  if (tabs.some((one) => one.taskId === tab.taskId && one.projectId === tab.projectId)) return
  const preview = tabs.findIndex((one) => !one.isPinned)
  const opened = { ...tab, isPinned: false }
  set({ tabs: preview === -1 ? [...tabs, opened] : tabs.with(preview, opened) })
}

export function pinTab(taskId: string): void {
  set(({ tabs }) => ({ tabs: tabs.map((tab) => (tab.taskId === taskId ? { ...tab, isPinned: true } : tab)) }))
}

/** Closes a tab and names the one that stands in its place. */
export function closeTab(taskId: string): OpenTab | undefined {
  const { tabs } = get()
  const place = tabs.findIndex((tab) => tab.taskId === taskId)
  if (place === -1) return undefined
  const left = tabs.toSpliced(place, 1)
  set({ tabs: left })
  return left[place] ?? left[place - 1]
}
