import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInBrowser, enterByAddress, openVisit, type Visit } from './browser.ts'
import { openWorld, type World } from './world.ts'

// One skill that came with the repository: each test goes on where the one before it ended.
describeInBrowser('a skill of the repository', () => {
  let world: World
  let visit: Visit<World>
  let page: Page
  let place: { projectId: string; taskId: string }

  beforeAll(async () => {
    const playbook = { title: 'Skills', opening: 'Greet.', stateless: true, conversations: [] }
    visit = await openVisit(openWorld({ playbook }))
    world = visit.place
    await plant('echo hello')
    const { id, rootTaskId } = await world.client.registerProject({
      body: { path: world.repository, setup: { choice: 'none' } },
    })
    place = { projectId: id, taskId: rootTaskId ?? '' }
    page = visit.tab.page
    await enterByAddress(visit.tab, world)
  })
  afterAll(() => visit?.close())

  test('is shown with its files before it is approved, and then attached to the task', async () => {
    await page.goto(`${world.url}/p/${place.projectId}/t/${place.taskId}/tools`)
    await skills().getByText('Not approved', { exact: true }).waitFor()
    await skills().getByRole('button', { name: 'Review greet' }).click()
    await skills().getByText('echo hello').waitFor()
    await skills().getByRole('button', { name: 'Approve greet' }).click()
    await skills().getByText('Ready', { exact: true }).waitFor()
    await skills().getByRole('button', { name: 'Attach greet' }).click()
    await skills().getByRole('button', { name: 'Detach greet' }).waitFor()

    expect((await world.client.getTask(place)).skills).toEqual(['greet'])
  })

  test('is shown word by word once it has changed', async () => {
    await plant('echo goodbye')
    await page.reload()
    await skills().getByText('Changed', { exact: true }).waitFor()
    await skills().getByRole('button', { name: 'Review greet' }).click()

    await skills().getByText('echo [-hello-] {+goodbye+}').waitFor()
  })

  function skills() {
    return page.getByRole('region', { name: 'Skills' })
  }

  async function plant(script: string): Promise<void> {
    const folder = join(world.repository, '.claude/skills/greet')
    await mkdir(folder, { recursive: true })
    await writeFile(
      join(folder, 'SKILL.md'),
      '---\nname: greet\ndescription: Greets.\nallowed-tools: Read\n---\nGreet.\n',
    )
    await writeFile(join(folder, 'greet.sh'), script)
  }
})
