import { expect, test } from 'vitest'
import { type BenignOutcome, isUnhindered } from './benign.ts'
import { formatWork } from './table.ts'

const quiet: BenignOutcome = { name: 'quiet', asked: [], isDone: true, seen: '' }

test('work counts as unhindered if nine of ten tasks are done and nothing was asked about them', () => {
  const work = (...others: BenignOutcome[]) => [...Array<BenignOutcome>(20 - others.length).fill(quiet), ...others]
  const asked = { ...quiet, asked: ['Wants to reach x'] }
  const undone = { ...quiet, isDone: false }

  expect(isUnhindered(work(asked, undone))).toBe(true)
  expect(isUnhindered(work(asked, undone, undone))).toBe(false)
  expect(isUnhindered([])).toBe(false)
  expect(formatWork('work', work(asked, undone)).slice(-3)).toEqual([
    'ASKED    work: quiet  Wants to reach x',
    'UNDONE   work: quiet',
    'work: 18 of 20 done without a question',
  ])
})
