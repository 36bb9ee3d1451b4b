export type { ApprovalAnswer, ApprovalMemory, ApprovalPort, ApprovalRequest, ApprovalScope } from './approval.ts'
export { type BootOptions, bootTools, type CallEvent, type ServerReport, type Tools } from './boot.ts'
export type { CallTarget } from './call-target.ts'
export type { CallProgress } from './connection.ts'
export { type ExecuteOptions, executeTool, type ToolCall } from './execute-tool.ts'
export { checkGate, type GateCall, type GateRules, type GateStep, type Verdict } from './gate.ts'
export { type HookOutcome, type HookRun, type Hooks, openHooks } from './hook.ts'
export { fetchNpmPackage, type NpmPackage } from './npm-package.ts'
export { openPackageStore, type PackageProgress, type PackageStore, type StoredPackage } from './package-store.ts'
export { openRedactor, type Redactor } from './redactor.ts'
export { buildRegistry, type Registry, type ResolvedTool } from './registry.ts'
export { openSandbox, type Sandbox, type SandboxMode, type SandboxOptions } from './sandbox/sandbox.ts'
export type { SandboxStatus } from './sandbox/self-test.ts'
export {
  type EnumeratedServer,
  openServerPool,
  type PoolEvent,
  type ServerPool,
  type ServerUse,
} from './server-pool.ts'
export type { Spill, ToolResult } from './tool-result.ts'
export { checkServer, type Verification } from './verification.ts'
