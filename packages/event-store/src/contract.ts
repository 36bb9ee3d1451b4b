import { activeContract } from './contract-active.ts'
import { appendContract } from './contract-append.ts'
import type { ContractCase } from './contract-case.ts'
import { forkContract } from './contract-fork.ts'
import { ownershipContract } from './contract-ownership.ts'
import { readContract } from './contract-read.ts'

/** What every store promises, for any test runner: give each case an `open` on data of its own. */
export const eventStoreContract: ContractCase[] = [
  ...appendContract,
  ...ownershipContract,
  ...readContract,
  ...activeContract,
  ...forkContract,
]
