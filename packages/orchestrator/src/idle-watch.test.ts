import type { Attention } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { createAttentionList } from './attention.ts'
import { watchIdleness } from './idle-watch.ts'
import type { ProjectContext } from './project-context.ts'

const minute = 60_000

function open() {
  const timers = new Set<{ at: number; callback: () => void }>()
  let time = 0
  const clock = {
    now: () => time,
    after(ms: number, callback: () => void) {
      const timer = { at: time + ms, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  const attention = createAttentionList({ onAdded() {}, onRemoved() {} })
  const agent = { activity: 'working' }
  const ctx = {
    id: 'p',
    world: { clock },
    attention,
    tree: { find: () => ({ title: 'Greeter' }) },
    agents: new Map([['t', agent]]),
  } as unknown as ProjectContext
  function pass(ms: number): void {
    const until = time + ms
    for (;;) {
      const [next] = [...timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)
      if (!next) break
      timers.delete(next)
      time = next.at
      next.callback()
    }
    time = until
  }
  return { idle: watchIdleness(ctx, 't'), attention, agent, pass, timers }
}

test('an agent that does nothing for fifteen minutes is shown, until it moves', () => {
  const { idle, attention, pass } = open()
  idle.moved()
  pass(14 * minute)
  idle.moved()
  pass(14.9 * minute)
  expect(attention.list()).toEqual([])

  pass(minute)
  expect(attention.list()).toMatchObject([
    {
      kind: 'failure',
      taskId: 't',
      taskTitle: 'Greeter',
      text: expect.stringContaining('done nothing for 15 minutes'),
    },
  ])

  idle.moved()
  expect(attention.list()).toEqual([])
  pass(16 * minute)
  expect(attention.list()).toHaveLength(1)
})

test('an agent that waits is expected to do nothing, and costs no timer', () => {
  const { idle, attention, agent, pass, timers } = open()
  idle.moved()
  idle.rest()
  expect(timers.size).toBe(0)

  idle.moved()
  pass(16 * minute)
  idle.rest()
  expect([attention.list(), timers.size]).toEqual([[], 0])

  idle.moved()
  agent.activity = 'waiting'
  pass(60 * minute)
  expect([attention.list(), timers.size]).toEqual([[], 0])
})

test('an agent that waits for an answer is shown once, for that, and watched again once it moves', () => {
  const { idle, attention, pass } = open()
  const question = { id: 'q', kind: 'question', taskId: 't', since: '' } as Attention
  idle.moved()
  attention.add(question)
  pass(25 * minute)
  expect(attention.list()).toEqual([question])

  attention.remove('q')
  idle.moved()
  pass(15 * minute)
  expect(attention.list()).toMatchObject([{ kind: 'failure' }])
})
