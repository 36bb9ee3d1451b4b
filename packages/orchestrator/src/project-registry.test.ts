import { expect, test } from 'vitest'
import { memoryWorld } from './config/memory-world.testing.ts'
import { type FoundRepository, openProjectRegistry } from './project-registry.ts'

const file = '/data/projects.json'

test('a repository is registered under its root, whatever folder of it was named', async () => {
  const { registry } = await open()
  const project = await registry.register({ path: '/home/me/shop/src' })

  expect(project).toEqual({
    id: '01JZZZZZZZZZZZZZZZZZZZZ001',
    name: 'shop',
    path: '/home/me/shop',
    gitDirectory: '/home/me/shop/.git',
    firstCommit: 'c-shop',
    registeredAt: '2026-01-02T03:04:05.000Z',
  })
  expect(registry.list()).toEqual([project])
})

test('what was registered is there after a restart', async () => {
  const { registry, world } = await open()
  const project = await registry.register({ path: '/home/me/shop', name: 'The shop' })

  expect((await open(world)).registry.list()).toEqual([project])
})

test('a repository is registered once, also through another worktree of it', async () => {
  const { registry } = await open()
  const { id } = await registry.register({ path: '/home/me/shop' })

  for (const path of ['/home/me/shop', '/home/me/shop-worktree'])
    await expect(registry.register({ path })).rejects.toMatchObject({
      code: 'PROJECT_EXISTS',
      message: expect.stringContaining(id),
    })
})

test('two registrations at once of one repository make one project', async () => {
  const { registry } = await open()
  const both = await Promise.allSettled([
    registry.register({ path: '/home/me/shop' }),
    registry.register({ path: '/home/me/shop' }),
  ])

  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(registry.list()).toHaveLength(1)
})

test('a folder that is no repository is refused', async () => {
  const { registry } = await open()

  await expect(registry.register({ path: '/tmp' })).rejects.toMatchObject({ code: 'REPOSITORY_UNUSABLE' })
})

test('a worktree of Matrix itself is refused, and so is a repository around the data directory', async () => {
  const { registry } = await open()

  for (const path of ['/data/projects/P/worktrees/T', '/'])
    await expect(registry.register({ path })).rejects.toMatchObject({ code: 'PROJECT_UNUSABLE' })
  await expect(registry.register({ path: '/data-of-mine' })).resolves.toMatchObject({ path: '/data-of-mine' })
})

test('a project can be renamed', async () => {
  const { registry, world } = await open()
  const { id } = await registry.register({ path: '/home/me/shop' })
  await registry.update(id, { name: 'Store' })

  expect((await open(world)).registry.get(id)).toMatchObject({ name: 'Store', path: '/home/me/shop' })
})

test('a project follows its repository to another place', async () => {
  const { registry, world } = await open()
  const { id } = await registry.register({ path: '/home/me/shop' })
  await registry.update(id, { path: '/srv/shop' })

  expect((await open(world)).registry.get(id)).toMatchObject({ path: '/srv/shop', name: 'shop' })
})

test('a project does not move to another repository, nor onto another project', async () => {
  const { registry } = await open()
  const { id } = await registry.register({ path: '/home/me/shop' })
  await registry.register({ path: '/srv/shop' })

  await expect(registry.update(id, { path: '/home/me/other' })).rejects.toMatchObject({ code: 'PROJECT_UNUSABLE' })
  await expect(registry.update(id, { path: '/srv/shop' })).rejects.toMatchObject({ code: 'PROJECT_EXISTS' })
  expect(registry.get(id).path).toBe('/home/me/shop')
})

test('a deregistered project is gone from the list, and comes back with its id when it is registered again', async () => {
  const { registry, world } = await open()
  const { id } = await registry.register({ path: '/home/me/shop', name: 'Store' })
  await registry.deregister(id)

  expect(registry.list()).toEqual([])
  expect(registry.find(id)).toBeUndefined()
  expect(await (await open(world)).registry.register({ path: '/home/me/shop' })).toMatchObject({ id, name: 'Store' })
})

test('another repository in the place of a deregistered one is another project', async () => {
  const { registry, repositories } = await open()
  const { id } = await registry.register({ path: '/home/me/shop' })
  await registry.deregister(id)
  repositories['/home/me/shop'] = { ...shop, firstCommit: 'c-new' }

  expect((await registry.register({ path: '/home/me/shop' })).id).not.toBe(id)
})

test.each(['nothing', '__proto__', '../x', ''])('an id that no project has is unknown: %j', async (id) => {
  const { registry } = await open()

  expect(() => registry.get(id)).toThrow(expect.objectContaining({ code: 'PROJECT_UNKNOWN' }))
  await expect(registry.update(id, { name: 'x' })).rejects.toMatchObject({ code: 'PROJECT_UNKNOWN' })
  await expect(registry.deregister(id)).rejects.toMatchObject({ code: 'PROJECT_UNKNOWN' })
})

test('a project that could not be written is not there', async () => {
  const { registry, world } = await open()
  world.onWrite = () => {
    throw new Error('no space')
  }

  await expect(registry.register({ path: '/home/me/shop' })).rejects.toThrow('no space')
  expect(registry.list()).toEqual([])
})

test('a damaged list is named and kept aside, and what can be read of it is used', async () => {
  const { registry, world } = await open()
  await registry.register({ path: '/home/me/shop' })
  const damaged = JSON.stringify({ projects: [...JSON.parse(world.disk.get(file) ?? '').projects, { id: 1 }] })
  world.disk.set(file, damaged)
  const { registry: again } = await open(world)

  expect(again.list()).toHaveLength(1)
  expect(again.problems).toMatchObject([
    { code: 'PROJECT_UNUSABLE', message: expect.stringContaining(`${file}.damaged-`) },
  ])
  expect(world.disk.get(`${file}.damaged-2026-01-02T03-04-05-000Z`)).toBe(damaged)
})

test.each(['{"projects": [', '[]', 'null', ''])('a list that cannot be read at all is kept aside: %j', async (text) => {
  const world = memoryWorld({ [file]: text })
  const { registry } = await open(world)

  expect(registry.list()).toEqual([])
  expect(registry.problems).toHaveLength(1)
  expect([...world.disk.entries()].filter(([path]) => path.includes('damaged')).map(([, kept]) => kept)).toEqual([text])
})

const shop: FoundRepository = { root: '/home/me/shop', gitDirectory: '/home/me/shop/.git', firstCommit: 'c-shop' }

async function open(world = memoryWorld()) {
  const plain = (root: string, firstCommit: string | null = `c-${root}`) => ({
    root,
    gitDirectory: `${root}/.git`,
    firstCommit,
  })
  const repositories: Record<string, FoundRepository> = {
    '/home/me/shop': shop,
    '/home/me/shop/src': shop,
    '/home/me/shop-worktree': { ...shop, root: '/home/me/shop-worktree' },
    '/srv/shop': plain('/srv/shop', 'c-shop'),
    '/home/me/other': plain('/home/me/other'),
    '/data/projects/P/worktrees/T': plain('/data/projects/P/worktrees/T'),
    '/data-of-mine': plain('/data-of-mine'),
    '/': plain('/'),
  }
  const registry = await openProjectRegistry(world, {
    dataDirectory: '/data',
    findRepository: async (path) => repositories[path],
  })
  return { registry, world, repositories }
}
