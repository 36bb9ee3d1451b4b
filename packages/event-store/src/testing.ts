export { type ContractCase, eventStoreContract, type OpenStore } from './contract.ts'
export { type CrashOutcome, type CrashPlan, type OpenOnDisk, planCrashes, runWithCrashes } from './crash-harness.ts'
export { type Random, seededRandom } from './random.ts'
export { type Fault, type Operation, type SimulatedDisk, simulateDisk } from './simulated-file-system.ts'
