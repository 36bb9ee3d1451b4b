import type { Frame } from '@matrix/protocol/http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { delta, projectId, said, taskId } from '../scripted-orchestrator.testing.ts'
import { openDeltaMerge } from './delta-merge.ts'

const other = '01K00000000000000000000002'

test('pieces of text are put together until they are released', () => {
  const sent: Frame[] = []
  const merge = openDeltaMerge((frame) => sent.push(frame))
  for (const piece of ['Good ', 'mor', 'ning']) merge.push(delta(piece))
  const before = sent.length
  merge.release()
  merge.release()

  expect(before).toBe(0)
  expect(sent).toEqual([delta('Good morning')])
})

test('whatever is merged, each task keeps its order and loses no letter', () => {
  const task = fc.constantFrom(taskId, other)
  const step = fc.record({ task, isDelta: fc.boolean(), text: fc.string({ minLength: 1, maxLength: 3 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const given = steps.map((one): Frame => (one.isDelta ? delta(one.text, one.task) : event(one.text, one.task)))
      const sent: Frame[] = []
      const merge = openDeltaMerge((frame) => sent.push(frame))
      for (const frame of given) merge.push(frame)
      merge.release()

      for (const id of [taskId, other]) expect(storyOf(sent, id)).toEqual(storyOf(given, id))
    }),
  )
})

/** What somebody who only watches this task has read, with the events between the text. */
function storyOf(frames: Frame[], id: string): string[] {
  const story: string[] = ['']
  for (const frame of frames) {
    if (frame.kind === 'live' && frame.taskId === id && frame.event.type === 'text_delta')
      story[story.length - 1] += frame.event.text
    if (frame.kind === 'event' && frame.taskId === id) story.push(JSON.stringify(frame.event), '')
  }
  return story
}

function event(text: string, task: string): Frame {
  return { kind: 'event', projectId, taskId: task, seq: 1, event: said(text, task) }
}
