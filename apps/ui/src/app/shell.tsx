import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { useLive } from '../live/live.ts'
import { BottomBar } from './bottom-bar.tsx'
import { useGlobalActions } from './global-actions.ts'
import { HealthBanner } from './health-banner.tsx'
import { useKeyboard } from './keyboard.ts'
import { useNotifications } from './notifications.ts'
import { useOverlay } from './overlay.ts'
import { useCurrentPlace } from './place.ts'
import { openTab, usePreferences } from './preferences.ts'
import { Sidebar } from './sidebar.tsx'
import { TabStrip } from './tab-strip.tsx'
import { useTitle } from './title.ts'
import { Tour, useDemoFirst } from './tour.tsx'

const loadPalette = () => import('./palette.tsx')
const Palette = lazy(() => loadPalette().then(({ Palette }) => ({ default: Palette })))
const KeyHelp = lazy(() => import('./key-help.tsx').then(({ KeyHelp }) => ({ default: KeyHelp })))
const NewTask = lazy(() => import('../overview/new-task.tsx').then(({ NewTask }) => ({ default: NewTask })))
const AddProject = lazy(() =>
  import('../first-run/add-project.tsx').then(({ AddProject }) => ({ default: AddProject })),
)

/** What stands around every view. */
export function Shell({ children }: { children: ReactNode }) {
  const isSidebarHidden = usePreferences(({ isSidebarHidden }) => isSidebarHidden)
  const { shown, close } = useOverlay()
  useGlobalActions()
  useKeyboard()
  useTitle()
  useNotifications()
  useRememberedPlace()
  useDemoFirst()
  useEffect(() => {
    // Whoever presses its keys goes on typing at once.
    const timer = setTimeout(loadPalette, 1500)
    return () => clearTimeout(timer)
  }, [])

  return (
    <div className="flex h-full flex-col">
      <a
        href="#main"
        className="-translate-y-full absolute top-0 left-0 z-50 bg-accent px-3 py-2 text-accent-ink focus:translate-y-0"
      >
        Skip to the content
      </a>
      <div className="flex min-h-0 flex-1">
        {isSidebarHidden ? null : <Sidebar />}
        <div className="flex min-w-0 flex-1 flex-col">
          <HealthBanner />
          <TabStrip />
          <main id="main" tabIndex={-1} className="min-h-0 flex-1 focus-visible:outline-none">
            <FirstLook>{children}</FirstLook>
          </main>
        </div>
      </div>
      <Tour className="md:hidden" />
      <BottomBar />
      <Suspense>
        {shown.kind === 'palette' ? <Palette onClose={close} /> : null}
        {shown.kind === 'keys' ? <KeyHelp onClose={close} /> : null}
        {shown.kind === 'new-task' ? (
          <NewTask projectId={shown.projectId} parentId={shown.parentId} onClose={close} />
        ) : null}
        {shown.kind === 'add-project' ? <AddProject onClose={close} /> : null}
      </Suspense>
    </div>
  )
}

/** Before the first answer of the daemon an empty view would be a lie. */
function FirstLook({ children }: { children: ReactNode }) {
  const isLoaded = useLive((live) => live.isLoaded)
  if (isLoaded) return children
  return (
    <div role="status" className="appearing-late flex h-full items-center justify-center text-ink-3">
      Reading what the daemon knows…
    </div>
  )
}

function useRememberedPlace(): void {
  const { projectId, taskId } = useCurrentPlace()
  useEffect(() => {
    if (projectId) usePreferences.setState({ projectId })
    if (projectId && taskId) openTab({ projectId, taskId })
  }, [projectId, taskId])
}
