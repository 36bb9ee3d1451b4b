export { type BudgetKind, budgetKinds, everyBudgetKind } from '../budget-kind.ts'
export { type ApprovalChoice, approvalChoices } from './approval-choices.ts'
export { describeCacheCost, describeChanges, isChanged } from './configuration-display.ts'
export { addCosts } from './cost.ts'
export {
  type Body,
  type BodyKind,
  type Display,
  type DisplayOptions,
  oneLine,
  type SearchRow,
  type Speaker,
  type Tone,
  type Weight,
} from './display.ts'
export { displayAnyEvent, displayEvent, type EventDisplayOptions } from './event-display.ts'
export { displayMessage } from './message-display.ts'
export {
  formatAmount,
  formatBytes,
  formatCost,
  formatCount,
  formatDuration,
  formatSpending,
  formatUsd,
  plural,
} from './quantity.ts'
export { isSimulatedModel, simulatedModel } from './simulated-model.ts'
export { describeLed, describeOrigin, describeSource } from './source-display.ts'
export { displayToolCall, displayToolResult, type ToolCall, type ToolResult, toolName } from './tool-display.ts'
