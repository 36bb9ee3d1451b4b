import { expect, test } from 'vitest'
import { openConfig } from './config/config.ts'
import { memoryWorld } from './config/memory-world.testing.ts'
import { ONCE_MS, openHostAccess } from './host-access.ts'

const project = { id: '01JZ', path: '/repo' }
const directory = '/data/projects/01JZ'

test('the list is that of the user and of the project, never that of the repository', async () => {
  const { hosts } = open({
    '/data/config.json': '{ "hosts": ["registry.example.com"] }',
    '/data/projects/01JZ/config.json': '{ "hosts": ["*.example.org:8443"] }',
    '/repo/.mxd/config.json': '{ "hosts": ["evil.example"] }',
  })

  expect(await hosts.list('a')).toEqual(['registry.example.com', '*.example.org:8443'])
})

test('an answer for a task counts for that task, survives a restart, and one for a while ends', async () => {
  const { hosts, world, reopen } = open({})
  await hosts.allow('a', 'once.example.com', 'once')
  await hosts.allow('a', 'task.example.com', 'task')

  expect(await reopen().list('a')).toEqual(['once.example.com', 'task.example.com'])
  expect(await hosts.list('b')).toEqual([])
  const later = world.clock.now() + ONCE_MS
  world.clock.now = () => later
  expect(await hosts.list('a')).toEqual(['task.example.com'])
})

test('an answer for the project stands in its local settings, once, and counts for every task', async () => {
  const { hosts, world } = open({})
  await Promise.all([hosts.allow('a', 'npm.example.com', 'always'), hosts.allow('b', 'npm.example.com', 'always')])

  expect(await hosts.list('c')).toEqual(['npm.example.com'])
  expect(JSON.parse(world.disk.get('/data/projects/01JZ/config.json') ?? '')).toEqual({ hosts: ['npm.example.com'] })
})

test('a file of answers that is damaged grants nothing', async () => {
  const { hosts } = open({ [`${directory}/hosts.json`]: '[{"taskId":"a","host":"x.exam' })

  expect(await hosts.list('a')).toEqual([])
})

test.each(['https://example.com', 'Example.com', 'example.com/path', 'a b', '*.com'])(
  'settings with the host %s are told what to write instead',
  async (host) => {
    const { config } = open({})

    await expect(config.set('global', 'hosts', [host])).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  },
)

function open(files: Record<string, string>) {
  const world = memoryWorld(files)
  const config = openConfig(world, { dataDirectory: '/data' })
  const reopen = () => openHostAccess(world, { project, config, directory })
  return { world, config, hosts: reopen(), reopen }
}
