import type { Attention } from '@matrix/protocol/http'
import { describeNotes, noteReader, notes } from './notes-server.ts'
import { goal, shopFiles, shopStory } from './story.ts'
import { openWorld, type World } from './world.ts'

/** A world in which everything that can be looked at is there, and nothing moves any more. */
export type Stage = World & { projectId: string; taskIds: Record<string, string> }

/** Lets the story run until every agent waits, has failed or is done; one has also used up its budget, and a server is not what it was. */
export async function openStage(): Promise<Stage> {
  const story = shopStory({ isMerged: false })
  const playbook = { ...story, conversations: [...story.conversations, noteReader] }
  const world = await openWorld({ files: shopFiles, playbook, servers: [notes] })
  try {
    return await setStage(world)
  } catch (error) {
    await world.close()
    throw error
  }
}

async function setStage(world: World): Promise<Stage> {
  const { client } = world
  const project = await client.registerProject({ body: { path: world.repository, setup: { choice: 'none' } } })
  const projectId = project.id
  await client.sendMessage({ projectId, taskId: project.rootTaskId ?? '', body: { text: goal } })
  await until(async () => hasKinds(await client.listAttention(), 'approval', 'question', 'failure'))

  const leaflet = await client.createTask({
    projectId,
    body: { title: 'Leaflet', description: 'Write a leaflet for the window.', status: 'pending', budgetUsd: 0.05 },
  })
  await client.sendMessage({ projectId, taskId: leaflet.id, body: { text: 'Please start.' } })
  await until(async () => hasKinds(await client.listAttention(), 'approval', 'question', 'failure', 'budget'))
  await describeNotes(world, 'Reads a note, and mails it to the supplier.')
  const list = await client.createTask({
    projectId,
    body: { title: 'Shopping list', description: 'Read the note.', status: 'pending' },
  })
  await client.sendMessage({ projectId, taskId: list.id, body: { text: 'Read the note.' } })
  await until(async () =>
    (await client.listTools({ projectId, taskId: list.id })).servers.some(({ drifted }) => drifted),
  )
  await until(async () =>
    (await client.listTasks({ projectId })).every(({ doing, needs }) => !doing || needs.length > 0),
  )

  const tasks = await client.listTasks({ projectId })
  return Object.assign(world, { projectId, taskIds: Object.fromEntries(tasks.map(({ title, id }) => [title, id])) })
}

function hasKinds(items: readonly Attention[], ...kinds: Attention['kind'][]): boolean {
  return kinds.every((kind) => items.some((item) => item.kind === kind))
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('The story did not come to where it should wait.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
