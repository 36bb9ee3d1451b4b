export {
  findOrphanedToolCalls,
  findPendingMessages,
  findResumeState,
  type ResumeState,
  type ToolCallEvent,
} from '@matrix/protocol/session'
export { type Clock, systemClock } from './clock.ts'
export type { Cost, CostFilter, CostKey } from './cost.ts'
export { type Damage, findDamage } from './damage.ts'
export { type DirectoryLock, findHolder, type LockHolder, lockDirectory } from './directory-lock.ts'
export { type EventStore, type Fence, type Hint, readPage, tailSession } from './event-store.ts'
export { eventText } from './event-text.ts'
export { type FileSystem, nodeFileSystem, type OpenFile } from './file-system.ts'
export { type ForkTarget, findIdentity, forkEvents, rewindEvents } from './fork.ts'
export { type JsonlOptions, openJsonlEventStore } from './jsonl-event-store.ts'
export { runEventMigrations } from './migration.ts'
export { type DataStore, type OpenOptions, openEventStore } from './open-event-store.ts'
export type { Repair } from './repair.ts'
export type { Reserve } from './reserve.ts'
export type { Retention } from './retention.ts'
export type { SearchFilter, SearchHit, SearchResult } from './search.ts'
export type { Snippet } from './search-query.ts'
export type { IndexProgress, SessionIndex, SessionSummary } from './session-index.ts'
export type { Durability } from './session-writer.ts'
export { isKnown, type StoredEvent, type UnknownEvent } from './stored-event.ts'
