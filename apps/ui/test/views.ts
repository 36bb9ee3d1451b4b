import type { Page } from 'playwright-core'
import type { Stage } from './stage.ts'

export type View = { name: string; path(stage: Stage): string; ready(page: Page): Promise<unknown> }

const inProject = (rest: string) => (stage: Stage) => `/p/${stage.projectId}${rest}`
const ofTask =
  (title: string, rest = '') =>
  (stage: Stage) =>
    `/p/${stage.projectId}/t/${stage.taskIds[title]}${rest}`

/** Every view there is, how to get there, and how to tell that it has come. */
export const views: View[] = [
  { name: 'inbox', path: () => '/', ready: (page) => page.getByRole('article').first().waitFor() },
  { name: 'tree', path: inProject(''), ready: (page) => page.getByRole('treeitem').nth(5).waitFor() },
  {
    name: 'board',
    path: inProject('/board'),
    ready: (page) => page.getByRole('heading', { name: 'Passed' }).waitFor(),
  },
  {
    name: 'timeline',
    path: inProject('/timeline'),
    ready: (page) => page.getByText('worked', { exact: false }).nth(5).waitFor({ state: 'attached' }),
  },
  {
    name: 'conversation',
    path: ofTask('Spring discount'),
    ready: (page) => page.getByText('First I look at how a line is worked out').waitFor(),
  },
  {
    name: 'review',
    path: ofTask('Spring discount', '/review'),
    ready: (page) => page.getByText('Math.round').first().waitFor(),
  },
  {
    name: 'tools',
    path: ofTask('Spring discount', '/tools'),
    ready: (page) => page.getByText('read_file').first().waitFor(),
  },
  {
    name: 'drift',
    path: ofTask('Shopping list', '/tools?server=notes'),
    ready: (page) => page.getByRole('list', { name: 'What is different about notes' }).waitFor(),
  },
  {
    name: 'conflicts',
    path: inProject('/conflicts'),
    ready: (page) => page.getByText('src/price.js').first().waitFor(),
  },
  { name: 'money', path: inProject('/money'), ready: (page) => page.getByText('claude-sonnet').first().waitFor() },
  {
    name: 'processes',
    path: inProject('/processes'),
    async ready(page) {
      await page.getByRole('button', { name: 'node watch.js', exact: true }).click()
      await page.getByRole('region', { name: 'Output' }).waitFor()
    },
  },
  { name: 'search', path: () => '/search?q=discount', ready: (page) => page.locator('mark').first().waitFor() },
  { name: 'settings', path: () => '/settings', ready: (page) => page.getByText('maxDepth').first().waitFor() },
  {
    name: 'agents',
    path: () => '/settings?section=agents',
    ready: (page) => page.getByText('Choose a file').waitFor(),
  },
  {
    name: 'devices',
    path: () => '/settings?section=devices',
    ready: (page) => page.getByText('this browser', { exact: true }).waitFor(),
  },
  { name: 'welcome', path: () => '/welcome', ready: (page) => page.getByText('How to read this page').waitFor() },
]
