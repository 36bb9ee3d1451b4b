import { useMemo } from 'react'
import { useLive, useTask } from '../live/live.ts'
import { type Action, useOffer } from './actions.ts'
import { askForNotifications } from './notifications.ts'
import { useOverlay } from './overlay.ts'
import { useCurrentPlace, useCurrentProjectId } from './place.ts'
import { closeTab, pinTab, usePreferences } from './preferences.ts'
import { router } from './router.tsx'
import { taskActions } from './task-actions.ts'
import { useTheme } from './theme.ts'

/** Everything that can be done from anywhere, and what can be done with the task in front. */
export function useGlobalActions(): void {
  const projectId = useCurrentProjectId()
  const { taskId } = useCurrentPlace()
  const task = useTask(projectId, taskId)

  useOffer(useMemo(() => [...everywhere(), ...(projectId ? inProject(projectId) : [])], [projectId]))
  // What can be done depends on how the agent is, not on every word that it says.
  const { status, activity, folder } = task ?? {}
  useOffer(
    useMemo(
      () =>
        projectId && taskId && status && activity ? taskActions({ projectId, taskId, status, activity, folder }) : [],
      [projectId, taskId, status, activity, folder],
    ),
  )
}

function everywhere(): Action[] {
  const { show } = useOverlay.getState()
  const { setTheme } = useTheme.getState()
  return [
    {
      id: 'palette',
      label: 'Search or run a command',
      group: 'Matrix',
      keys: 'mod+k',
      run: () => show({ kind: 'palette' }),
    },
    {
      id: 'go.inbox',
      label: 'Go to the inbox',
      group: 'Go to',
      keys: 'g i',
      words: 'needs attention approvals',
      run: () => void router.navigate({ to: '/' }),
    },
    {
      id: 'go.search',
      label: 'Search everything',
      group: 'Go to',
      keys: '/',
      run: () => void router.navigate({ to: '/search' }),
    },
    {
      id: 'go.settings',
      label: 'Settings',
      group: 'Go to',
      keys: 'g ,',
      words: 'config preferences',
      run: () => void router.navigate({ to: '/settings' }),
    },
    {
      id: 'go.devices',
      label: 'Devices',
      group: 'Go to',
      words: 'sign in revoke',
      run: () => void router.navigate({ to: '/settings', search: { section: 'devices' } }),
    },
    {
      id: 'go.all-money',
      label: 'Money of all projects',
      group: 'Go to',
      words: 'cost spend',
      run: () => void router.navigate({ to: '/money' }),
    },
    {
      id: 'go.welcome',
      label: 'Guided look',
      group: 'Go to',
      words: 'tour help start',
      run: () => void router.navigate({ to: '/welcome' }),
    },
    {
      id: 'project.add',
      label: 'Add a project',
      group: 'Matrix',
      words: 'repository register',
      run: () => show({ kind: 'add-project' }),
    },
    {
      id: 'keys',
      label: 'Show all keys',
      group: 'Matrix',
      keys: '?',
      words: 'keyboard shortcuts',
      run: () => show({ kind: 'keys' }),
    },
    {
      id: 'sidebar',
      label: 'Show or hide the sidebar',
      group: 'Matrix',
      keys: 'mod+b',
      run: () => usePreferences.setState(({ isSidebarHidden }) => ({ isSidebarHidden: !isSidebarHidden })),
    },
    { id: 'theme.light', label: 'Light colours', group: 'Matrix', words: 'theme', run: () => setTheme('light') },
    { id: 'theme.dark', label: 'Dark colours', group: 'Matrix', words: 'theme night', run: () => setTheme('dark') },
    {
      id: 'theme.system',
      label: 'Colours of the system',
      group: 'Matrix',
      words: 'theme',
      run: () => setTheme('system'),
    },
    {
      id: 'notify',
      label: 'Notify me in the browser',
      group: 'Matrix',
      words: 'notifications',
      run: () => void askForNotifications(),
    },
    { id: 'tab.close', label: 'Close the tab', group: 'Tabs', keys: 'x', run: closeCurrentTab },
    { id: 'tab.pin', label: 'Keep the tab open', group: 'Tabs', keys: 'p', run: () => pinTab(currentTaskId() ?? '') },
    { id: 'tab.next', label: 'Next tab', group: 'Tabs', keys: ']', run: () => stepTab(1) },
    { id: 'tab.previous', label: 'Previous tab', group: 'Tabs', keys: '[', run: () => stepTab(-1) },
  ]
}

function inProject(projectId: string): Action[] {
  const params = { projectId }
  return [
    {
      id: 'task.new',
      label: 'New task',
      group: 'Project',
      keys: 'c',
      words: 'create add',
      run: () => showNewTask(projectId),
    },
    {
      id: 'go.tree',
      label: 'Tree',
      group: 'Go to',
      keys: 'g t',
      run: () => void router.navigate({ to: '/p/$projectId', params }),
    },
    {
      id: 'go.board',
      label: 'Board',
      group: 'Go to',
      keys: 'g b',
      run: () => void router.navigate({ to: '/p/$projectId/board', params }),
    },
    {
      id: 'go.timeline',
      label: 'Timeline',
      group: 'Go to',
      keys: 'g l',
      run: () => void router.navigate({ to: '/p/$projectId/timeline', params }),
    },
    {
      id: 'go.conflicts',
      label: 'Conflicts',
      group: 'Go to',
      keys: 'g c',
      run: () => void router.navigate({ to: '/p/$projectId/conflicts', params }),
    },
    {
      id: 'go.processes',
      label: 'Background processes',
      group: 'Go to',
      keys: 'g p',
      run: () => void router.navigate({ to: '/p/$projectId/processes', params }),
    },
    {
      id: 'go.money',
      label: 'Money',
      group: 'Go to',
      keys: 'g m',
      words: 'cost budget',
      run: () => void router.navigate({ to: '/p/$projectId/money', params }),
    },
    {
      id: 'go.project-settings',
      label: 'Settings of this project',
      group: 'Go to',
      run: () => void router.navigate({ to: '/settings', search: { projectId } }),
    },
  ]
}

/** Below the task in front, or below the root. */
function showNewTask(projectId: string): void {
  useOverlay.getState().show({ kind: 'new-task', projectId, parentId: currentTaskId() })
}

function currentTaskId(): string | undefined {
  const params = router.state.matches.at(-1)?.params as { taskId?: string } | undefined
  return params?.taskId
}

function closeCurrentTab(): void {
  const next = closeTab(currentTaskId() ?? '')
  if (next) void router.navigate({ to: '/p/$projectId/t/$taskId', params: next })
  else void router.navigate({ to: '/' })
}

function stepTab(step: number): void {
  const { tabs } = usePreferences.getState()
  const known = tabs.filter(({ projectId, taskId }) => useLive.getState().tasks[projectId]?.[taskId])
  const place = known.findIndex(({ taskId }) => taskId === currentTaskId())
  const next = known[(place + step + known.length) % known.length]
  if (next) void router.navigate({ to: '/p/$projectId/t/$taskId', params: next })
}
