import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { ErrorState, Loading } from '../parts/states.tsx'
import { MissingPage } from './missing-page.tsx'

type Search = Record<string, unknown>

const root = createRootRoute({ notFoundComponent: MissingPage })

const inbox = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (search: Search) => ({ ...text(search, 'item') }),
  component: lazyRouteComponent(() => import('../overview/inbox-page.tsx'), 'InboxPage'),
})
const search = createRoute({
  getParentRoute: () => root,
  path: '/search',
  validateSearch: (search: Search) => ({
    ...text(search, 'q'),
    ...text(search, 'projectId'),
    ...text(search, 'kind'),
    ...text(search, 'since'),
  }),
  component: lazyRouteComponent(() => import('../search/search-page.tsx'), 'SearchPage'),
})
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: (search: Search) => ({ ...text(search, 'section'), ...text(search, 'projectId') }),
  component: lazyRouteComponent(() => import('../settings/settings-page.tsx'), 'SettingsPage'),
})
const welcome = createRoute({
  getParentRoute: () => root,
  path: '/welcome',
  component: lazyRouteComponent(() => import('../first-run/welcome-page.tsx'), 'WelcomePage'),
})
const allMoney = createRoute({
  getParentRoute: () => root,
  path: '/money',
  component: lazyRouteComponent(() => import('../money/money-page.tsx'), 'MoneyPage'),
})

const project = createRoute({ getParentRoute: () => root, path: '/p/$projectId' })
const tree = createRoute({
  getParentRoute: () => project,
  path: '/',
  validateSearch: (search: Search) => ({ ...text(search, 'find'), ...text(search, 'show') }),
  component: lazyRouteComponent(() => import('../overview/tree-page.tsx'), 'TreePage'),
})
const board = createRoute({
  getParentRoute: () => project,
  path: '/board',
  component: lazyRouteComponent(() => import('../overview/board-page.tsx'), 'BoardPage'),
})
const timeline = createRoute({
  getParentRoute: () => project,
  path: '/timeline',
  component: lazyRouteComponent(() => import('../overview/timeline-page.tsx'), 'TimelinePage'),
})
const money = createRoute({
  getParentRoute: () => project,
  path: '/money',
  component: lazyRouteComponent(() => import('../money/money-page.tsx'), 'MoneyPage'),
})
const processes = createRoute({
  getParentRoute: () => project,
  path: '/processes',
  validateSearch: (search: Search) => ({ ...text(search, 'process') }),
  component: lazyRouteComponent(() => import('../processes/processes-page.tsx'), 'ProcessesPage'),
})
const conflicts = createRoute({
  getParentRoute: () => project,
  path: '/conflicts',
  component: lazyRouteComponent(() => import('../conflicts/conflicts-page.tsx'), 'ConflictsPage'),
})

const task = createRoute({
  getParentRoute: () => project,
  path: '/t/$taskId',
  validateSearch: (search: Search) => ({ ...number(search, 'seq'), ...text(search, 'panel') }),
  component: lazyRouteComponent(() => import('../task/task-page.tsx'), 'TaskPage'),
})
const review = createRoute({
  getParentRoute: () => project,
  path: '/t/$taskId/review',
  validateSearch: (search: Search) => ({ ...text(search, 'path') }),
  component: lazyRouteComponent(() => import('../review/review-page.tsx'), 'ReviewPage'),
})
const tools = createRoute({
  getParentRoute: () => project,
  path: '/t/$taskId/tools',
  validateSearch: (search: Search) => ({ ...text(search, 'server') }),
  component: lazyRouteComponent(() => import('../tools/tools-page.tsx'), 'ToolsPage'),
})

const routeTree = root.addChildren([
  inbox,
  search,
  settings,
  welcome,
  allMoney,
  project.addChildren([tree, board, timeline, money, processes, conflicts, task, review, tools]),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} onRetry={reset} />,
  // Views keep their own scroll positions; the window itself never scrolls.
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

function text<Name extends string>(search: Search, name: Name): { [key in Name]?: string } {
  const value = search[name]
  if (typeof value !== 'string' && typeof value !== 'number') return {}
  return { [name]: String(value) } as { [key in Name]?: string }
}

function number<Name extends string>(search: Search, name: Name): { [key in Name]?: number } {
  const value = Number(search[name])
  return Number.isFinite(value) && search[name] !== undefined ? ({ [name]: value } as { [key in Name]?: number }) : {}
}
