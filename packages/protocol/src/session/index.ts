export {
  findOrphanedToolCalls,
  findPendingMessages,
  findResumeState,
  isWaiting,
  isWaitingCall,
  type ResumeState,
  resumeStateOf,
  type ToolCallEvent,
  unaskedQuestion,
} from './session-questions.ts'
export {
  applyEvent,
  type EventOf,
  emptySession,
  endId,
  FOLD_VERSION,
  type FoldedEvent,
  foldSession,
  type OpenCall,
  readsInput,
  type SessionState,
  type StartedCommand,
} from './session-state.ts'
