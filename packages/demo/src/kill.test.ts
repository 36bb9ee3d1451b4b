import type { Playbook } from '@matrix/mock-provider'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { buildCrowd, crowdGoal } from './crowd.testing.ts'
import type { KillableRun } from './killable-run.testing.ts'
import { bundleProgram, liveOnce, type Outcome, openStage, processesIn, readOutcome } from './killed-story.testing.ts'
import { buildStory, goal } from './story.ts'

const kills = Number(process.env.MATRIX_KILLS ?? 15)
const seed = Number(process.env.MATRIX_SEED ?? 1)
/** So many deaths fit into one telling of a story; for more, it is told again. */
const DEATHS_PER_STORY = 15

let program: Awaited<ReturnType<typeof bundleProgram>>
beforeAll(async () => {
  program = await bundleProgram()
}, 60_000)
afterAll(() => program.remove())

const inDemo = Math.ceil((kills * 2) / 3)
test(`the demo, killed ${inDemo} times, ends as if nothing had happened`, { timeout: timeoutFor(inDemo) }, () =>
  endsAsUndisturbed(buildStory(), goal, inDemo),
)

const inCrowd = Math.floor(kills / 3)
test(
  `a story of twenty agents, killed ${inCrowd} times, ends as if nothing had happened`,
  {
    timeout: timeoutFor(inCrowd),
  },
  () => endsAsUndisturbed(buildCrowd(20), crowdGoal, inCrowd),
)

function timeoutFor(deaths: number): number {
  return 120_000 + deaths * 30_000
}

async function endsAsUndisturbed(playbook: Playbook, opening: string, deaths: number): Promise<void> {
  const { kills: _, ...undisturbed } = await play(playbook, opening, { deaths: 0, random: () => 0, events: 0 })
  expect(undisturbed.violations).toEqual([])

  const random = mulberry(seed)
  for (let left = deaths; left > 0; ) {
    const told = await play(playbook, opening, { deaths: left, random, events: undisturbed.events })
    const { kills: made, ...outcome } = told
    expect(outcome).toEqual({ ...undisturbed, events: outcome.events })
    left -= Math.max(1, made)
    if (process.env.MATRIX_KILLS) process.stderr.write(`${deaths - left} of ${deaths} kills survived\n`)
  }
}

type Plan = { deaths: number; random: () => number; events: number }

/** Plays a story to its end, through so many deaths or as many as it lasts. */
async function play(
  playbook: Playbook,
  opening: string,
  { deaths, random, events }: Plan,
): Promise<Outcome & { kills: number }> {
  const stage = await openStage(playbook, opening)
  onTestFinished(() => (process.env.MATRIX_KEEP ? stage.mock.close() : stage.close()))
  const step = Math.ceil((2 * events) / Math.min(deaths, DEATHS_PER_STORY))
  const faults: string[] = []
  for (let made = 0; ; made += 1) {
    const { isEnded, lines } = await liveOnce(
      program.file,
      stage,
      made < deaths ? chooseDeath(random, step) : undefined,
    )
    faults.push(...lines.filter((line) => /^survivor|^answer refused|"problems":\["/.test(line)))
    if (!isEnded) continue
    const outcome = readOutcome(stage)
    faults.push(...stage.mock.problems, ...processesIn(stage.dataDirectory).map((each) => `left running: ${each}`))
    return { ...outcome, violations: [...outcome.violations, ...faults], kills: made }
  }
}

/** Right after an event, a little later, or before the first one, while everything is being brought back. */
function chooseDeath(random: () => number, step: number): KillableRun['kill'] {
  const chance = random()
  if (chance < 0.15) return { afterEvents: 0, delayMs: 1 + Math.floor(random() * 1500) }
  return { afterEvents: 1 + Math.floor(random() * step), delayMs: chance < 0.6 ? 0 : Math.floor(random() * 200) }
}

/** Small, seeded, good enough to choose moments with. */
function mulberry(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
