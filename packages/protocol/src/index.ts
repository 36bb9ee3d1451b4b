export { budgetFields, type TaskBudgets } from './budget.ts'
export {
  addSpent,
  type BudgetKind,
  type BudgetState,
  budgetKinds,
  everyBudgetKind,
  nothingSpent,
  readBudgetState,
  type Spent,
} from './budget-kind.ts'
export { DRAFT_PREFIX } from './draft-file.ts'
export { type ErrorCode, errors, MatrixError } from './error.ts'
export {
  DurableEvent,
  type Event,
  type EventType,
  isPersistedByEmitEvent,
  LiveEvent,
  TokenUsage,
  ToolContent,
  ToolSpec,
} from './event.ts'
export {
  findHiddenCharacters,
  hasHiddenCharacters,
  printable,
  printableLine,
} from './hidden-characters.ts'
export { removedNote, removeInvisible, removeInvisibleDeep } from './invisible-text.ts'
export { findUntrusted, mergeSources, Origin, UntrustedSource } from './origin.ts'
export { Image, isWaking, type MessageSource, QueueMessage, queueMessage } from './queue-message.ts'
export { type CommandName, parseComposed, slashCommands, suggestCommands } from './slash-command.ts'
export {
  canFollow,
  EditedBy,
  nextStatuses,
  Persistence,
  SkillName,
  SkillNames,
  TaskId,
  TaskNode,
  TaskStatus,
} from './task.ts'
export {
  BUILTIN_ALIAS,
  type BuiltinTool,
  builtinTools,
  type LoopTool,
  loopTools,
  type OrchestratorTool,
  orchestratorTools,
} from './tool-names.ts'
