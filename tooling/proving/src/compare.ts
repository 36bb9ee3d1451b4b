import type { Project } from './project.ts'
import type { Results } from './results/outcome.ts'

export type Difference = { test: string; outside: string; inside: string; why: string | undefined }

/** Every test that ended otherwise inside than outside, with the reason where the project names one. */
export function compareResults(
  { differences = [] }: Pick<Project, 'differences'>,
  outside: Results,
  inside: Results,
): Difference[] {
  return namesOf(outside, inside)
    .map((test) => ({ test, outside: describe(outside, test), inside: describe(inside, test) }))
    .filter((one) => one.outside !== one.inside)
    .map((one) => ({ ...one, why: differences.find(({ tests }) => one.test.includes(tests))?.why }))
}

function namesOf(...runs: Results[]): string[] {
  return [...new Set(runs.flatMap((run) => [...run.keys()]))].sort()
}

function describe(run: Results, test: string): string {
  return run.get(test)?.toSorted().join(', ') ?? 'absent'
}

export function countTests(run: Results): number {
  return [...run.values()].reduce((sum, outcomes) => sum + outcomes.length, 0)
}
