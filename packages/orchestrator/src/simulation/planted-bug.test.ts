import { expect, test } from 'vitest'
import type { Planted } from './simulated-machine.testing.ts'
import { planDeaths, playStory } from './simulated-story.testing.ts'

/** Mistakes that a store, a disk, git or a tool could make, each of which must be noticed within so many deaths. */
const planted: Record<string, Planted> = {
  'a store that does not recognise a message it has': {
    store: (store) => ({ ...store, hasMessage: async () => false }),
  },
  'a store that says yes before the disk does': {
    disk: (disk) => ({
      ...disk,
      open: async (path, mode) => ({
        ...(await disk.open(path, mode === 'read' ? mode : 'write')),
        sync: async () => {},
      }),
    }),
  },
  'a store that forgets that messages were read': {
    store: (store) => ({
      ...store,
      append: (sessionId, fence, events) =>
        store.append(
          sessionId,
          fence,
          events.map((event) => (event.type === 'messages_consumed' ? { ...event, messageIds: [] } : event)),
        ),
    }),
  },
  'a store that stores the parts of a turn one by one': {
    store: (store) => ({
      ...store,
      async append(sessionId, fence, events) {
        let last = 0
        for (const event of events) last = await store.append(sessionId, fence, [event])
        return last
      },
    }),
  },
  'a store that stores a call only with its result': {
    store: (store) => {
      const held = new Map<string, Parameters<typeof store.append>[2]>()
      return {
        ...store,
        async append(sessionId, fence, events) {
          if (events.some(({ type }) => type === 'tool_call') && !events.some(({ type }) => type === 'tool_result')) {
            held.set(sessionId, [...(held.get(sessionId) ?? []), ...events])
            return store.lastSeq(sessionId)
          }
          const before = held.get(sessionId) ?? []
          held.delete(sessionId)
          return store.append(sessionId, fence, [...before, ...events])
        },
      }
    },
  },
  'a store that hides the newest message from whoever resumes': {
    store: (store) => ({
      ...store,
      async readActive(sessionId) {
        const events = await store.readActive(sessionId)
        const last = events.findLastIndex(({ type }) => type === 'message')
        return events.filter((_, index) => index !== last || index < 3)
      },
    }),
  },
  'a tree that is not brought to the disk': {
    treeDisk: (disk) => ({
      ...disk,
      syncDirectory: async () => {},
      open: async (path, how) => ({ ...(await disk.open(path, how)), sync: async () => {} }),
    }),
  },
  'a commit that does not know that it was made': {
    worktrees: (worktrees) => ({
      ...worktrees,
      commit: ({ since: _, ...options }) => worktrees.commit(options),
      merge: ({ since: _, ...options }) => worktrees.merge(options),
    }),
  },
  'a tool that does its work twice': {
    tools: (tools) => ({
      ...tools,
      async call(name, input, context) {
        await tools.call(name, input, context)
        return tools.call(name, input, context)
      },
    }),
  },
  'a worktree that stays when its task is closed': {
    worktrees: (worktrees) => ({ ...worktrees, find: async () => undefined }),
  },
}

for (const [name, bug] of Object.entries(planted))
  test(`${name} is noticed`, { timeout: 120_000 }, async () => {
    const violations: string[] = []
    for (const plan of planDeaths(Number(process.env.MATRIX_CRASH_POINTS ?? 1000), 50)) {
      violations.push(...(await playStory({ ...plan, planted: bug })).violations)
      if (violations.length > 0) break
    }

    expect(violations).not.toEqual([])
  })
