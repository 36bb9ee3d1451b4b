import { compareResults, countTests, type Difference } from './compare.ts'
import { installPackages } from './debian.ts'
import { runInside } from './inside.ts'
import { layOut } from './layout.ts'
import { runOutside, testOutside } from './outside.ts'
import type { Project } from './project.ts'
import type { Stage } from './stage.ts'

/** How one project fared. `faults` are what must not be: tests that differ without a reason, or a job gone wrong. */
export type Proof = {
  name: string
  language: string
  outside: number
  inside: number
  differing: Difference[]
  /** Tests that two runs outside disagree about: the sandbox cannot be judged by them. */
  unstable: string[]
  outsideMs: number
  insideMs: number
  faults: string[]
}

export async function prove(project: Project, { cache, stage }: { cache: string; stage: Stage }): Promise<Proof> {
  const { name, language } = project
  const proof: Proof = {
    ...{ name, language, outside: 0, inside: 0, differing: [], unstable: [], outsideMs: 0, insideMs: 0, faults: [] },
  }
  try {
    await installPackages(project.packages ?? [])
    const ground = await layOut(project, cache)
    const outside = await runOutside(project, ground.outside)
    Object.assign(proof, { outside: countTests(outside.results), outsideMs: outside.ms })
    if (proof.outside === 0) throw new Error(`No test ran outside: see ${ground.outside}/.proving.`)

    const { run: inside, faults } = await runInside(project, ground, stage)
    Object.assign(proof, { inside: countTests(inside.results), insideMs: inside.ms })
    proof.faults.push(...faults)
    proof.differing = compareResults(project, outside.results, inside.results)
    if (unnamed(proof).length === 0) return proof

    const again = await testOutside(project, ground.outside)
    proof.unstable = compareResults(project, outside.results, again.results).map(({ test }) => test)
    proof.faults.push(
      ...unnamed(proof).map(({ test, ...one }) => `${test}: ${one.outside} outside, ${one.inside} inside`),
    )
  } catch (error) {
    proof.faults.push(error instanceof Error ? error.message : String(error))
  }
  return proof
}

function unnamed({ differing, unstable }: Proof): Difference[] {
  return differing.filter(({ test, why }) => !why && !unstable.includes(test))
}
