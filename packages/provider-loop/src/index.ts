export { type AdapterCore, type AdapterOptions, completeAdapter, readArguments } from './adapter-base.ts'
export { type AnthropicOptions, createAnthropicAdapter } from './anthropic-adapter.ts'
export {
  type Amounts,
  type BudgetLevel,
  type BudgetOptions,
  type BudgetPort,
  createBudget,
  createChanges,
  isUsedUp,
  mapKinds,
  type Refusal,
  type Reservation,
  reserve,
  type Wanted,
} from './budget.ts'
export {
  buildCompactedContext,
  COMPACT_BUFFER_RATIO,
  checkpointSections,
  extractCheckpoint,
} from './compaction.ts'
export { findOrphanedToolCalls, interruptedText, totalTokens, walkEventsToMessages } from './conversation.ts'
export { BrokenAnswer } from './failure.ts'
export type { Dial } from './http-fetch.ts'
export { defaultModels } from './known-models.ts'
export { createMessageQueue, type MessageQueue } from './message-queue.ts'
export { formatMessage, type UserPart } from './message-text.ts'
export { createOpenaiChatAdapter } from './openai-chat-adapter.ts'
export type { OpenaiOptions } from './openai-client.ts'
export { createOpenaiResponsesAdapter, type OpenaiResponsesOptions } from './openai-responses-adapter.ts'
export { type Ports, systemPorts } from './ports.ts'
export type { ModelPricing, PricingOverrides } from './pricing.ts'
export type {
  AnsweredCall,
  ApiCall,
  AssistantTurn,
  EventConverterCallbacks,
  ProviderAdapter,
  ProviderResponse,
  SerializedMessages,
  StopReason,
  ToolUse,
} from './provider-adapter.ts'
export { runProviderLoop } from './provider-loop.ts'
export type { AgentRequest, AgentResult, ExitReason, Route, RunLimits } from './run.ts'
export { TOOL_NAME_ALIASES } from './tool-name-aliases.ts'
export {
  createLoopTools,
  executeTool,
  type LoopControl,
  type ToolDefinition,
  type ToolExecResult,
  textResult,
} from './tools.ts'
