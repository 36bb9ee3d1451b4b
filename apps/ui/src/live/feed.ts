import type { Frame, ProjectView } from '@matrix/protocol/http'
import { client } from './client.ts'
import { applyFrames, useLive, type World } from './live.ts'
import { findSession, openSessions } from './session.ts'

type FeedOptions = {
  signal: AbortSignal
  onConfig(projectId: string | null): void
}

/** Longer than this without the daemon, and the page says so plainly. */
const offlineAfterMs = 6000
/** Nobody reads faster than this, and drawing more often takes the time that scrolling needs. */
const drawEveryMs = 80
/** More frames than this in one batch mean that the page cannot keep up with what is said. */
const tooMany = 2000

/** Keeps the page true until the signal ends it. Throws what only a person can mend, such as no longer being signed in. */
export async function runFeed({ signal, onConfig }: FeedOptions): Promise<void> {
  let waiting: Frame[] = []
  let isReading = false
  let isScheduled = false
  let drawnAt = 0

  const schedule = () => {
    if (isScheduled || isReading) return
    isScheduled = true
    // A hidden page gets no animation frames, but its title and notifications must stay true.
    if (document.hidden) setTimeout(flush, 250)
    else setTimeout(() => requestAnimationFrame(flush), Math.max(0, drawnAt + drawEveryMs - performance.now()))
  }

  const flush = () => {
    isScheduled = false
    if (isReading || waiting.length === 0) return
    drawnAt = performance.now()
    const frames = waiting
    waiting = []
    const known = useLive.getState().tasks
    showFrames(frames)
    for (const frame of frames) {
      if (frame.kind === 'config') onConfig(frame.projectId)
      // Of a project that is new here, only what changes from now on is told.
      if (frame.kind === 'project' && !known[frame.project.id]) void readTree(frame.project).catch(onLost)
    }
    if (frames.length > tooMany) useLive.setState({ health: 'behind' })
    else if (useLive.getState().health === 'behind') useLive.setState({ health: 'live' })
  }

  const readAgain = async () => {
    isReading = true
    if (useLive.getState().isLoaded) useLive.setState({ health: 'behind' })
    try {
      useLive.setState({ ...(await readWorld()), isLoaded: true, health: 'live', lostAt: null })
      for (const session of openSessions()) session.catchUp()
    } finally {
      isReading = false
    }
    schedule()
  }

  const watch = setInterval(() => noticeLoss(), 1000)
  try {
    for await (const frame of client.events({ signal, onConnection })) {
      if (frame.kind === 'resync') void readAgain().catch(onLost)
      else waiting.push(frame)
      schedule()
    }
  } finally {
    clearInterval(watch)
  }
}

function onConnection(isOpen: boolean): void {
  if (!isOpen) onLost()
  else if (useLive.getState().isLoaded) useLive.setState({ health: 'live', lostAt: null })
}

function onLost(): void {
  const { lostAt, health } = useLive.getState()
  if (lostAt === null) useLive.setState({ health: 'reconnecting', lostAt: Date.now() })
  else if (health !== 'offline') noticeLoss()
}

function noticeLoss(): void {
  const { lostAt, health } = useLive.getState()
  if (lostAt !== null && health !== 'offline' && Date.now() - lostAt > offlineAfterMs)
    useLive.setState({ health: 'offline' })
}

function showFrames(frames: readonly Frame[]): void {
  useLive.setState((live) => applyFrames(live, frames))
  for (const frame of frames) {
    if (frame.kind === 'event') findSession(frame.projectId, frame.taskId)?.takeEvent(frame)
    else if (frame.kind === 'live') findSession(frame.projectId, frame.taskId)?.takeSignal(frame)
  }
  for (const session of openSessions()) session.publish()
}

async function readTree(project: ProjectView): Promise<void> {
  const [id, read] = await readTasks(project)
  // What was told meanwhile is newer than what was read.
  useLive.setState(({ tasks }) => ({ tasks: { ...tasks, [id]: { ...read, ...tasks[id] } } }))
}

async function readWorld(): Promise<World> {
  const [projects, attention] = await Promise.all([client.listProjects(), client.listAttention()])
  const trees = await Promise.all(projects.map(readTasks))
  return {
    projects: byId(projects),
    attention: byId(attention),
    tasks: Object.fromEntries(trees),
  }
}

/** A project that cannot be read has a problem of its own to show, and must not take the others along. */
async function readTasks({ id, problem }: ProjectView): Promise<[string, World['tasks'][string]]> {
  try {
    return [id, byId(await client.listTasks({ projectId: id }))]
  } catch (error) {
    if (problem) return [id, {}]
    throw error
  }
}

function byId<Item extends { id: string }>(items: readonly Item[]): Record<string, Item> {
  return Object.fromEntries(items.map((item) => [item.id, item]))
}
