export type { Operations, Orchestrator, Resumed, ServedOperation } from './operations.ts'
export type { Files, World } from './world.ts'
