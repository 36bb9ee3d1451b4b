import type { Step } from './outside.testing.ts'

/** One life of a process, as everything that it does sees it: each step may be the last, and after that nothing ever ends. */
export type Mortal = {
  isAlive(): boolean
  /** Counts a step. Answers whether it is the one at which the process dies. */
  isLast(): boolean
  die(): void
  step: Step
}

/** What somebody who has died is told. */
export function never<T>(): Promise<T> {
  return new Promise(() => {})
}
