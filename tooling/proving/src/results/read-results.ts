import { readAutomake } from './automake.ts'
import { readCargo } from './cargo.ts'
import { readCtest } from './ctest.ts'
import { readGo } from './go.ts'
import { readJest } from './jest.ts'
import type { ReadResults } from './outcome.ts'
import { readPytest } from './pytest.ts'
import { readStars } from './stars.ts'
import { readTap } from './tap.ts'
import { readUnittest } from './unittest.ts'

/** How a test run says test by test what happened. */
export const readers = {
  automake: readAutomake,
  cargo: readCargo,
  ctest: readCtest,
  go: readGo,
  jest: readJest,
  pytest: readPytest,
  stars: readStars,
  tap: readTap,
  unittest: readUnittest,
} satisfies Record<string, ReadResults>

export type ResultFormat = keyof typeof readers
