export { type AgentDraft, type DraftOptions, placeFiles, readAgentDraft } from './agent-draft.ts'
export {
  type AgentProposal,
  type LeftOut,
  type ProposalOptions,
  proposeAgent,
  type ServerFinding,
} from './agent-proposal.ts'
export type { ApprovalAnswer, ApprovalMemory, ApprovalPort, ApprovalRequest, ApprovalScope } from './approval.ts'
export { openApprovalFile } from './approval-file.ts'
export {
  assertWithin,
  type BootOptions,
  bootTools,
  type CallEvent,
  type FlowCheck,
  type ServerReport,
  type Tools,
} from './boot.ts'
export { type BuiltinLaunchOptions, builtinLaunch } from './builtin/builtin-launch.ts'
export { builtinSurfaces } from './builtin/builtin-surface.ts'
export type { BuiltinTool } from './builtin/builtin-tool.ts'
export { makeRoom, OUTPUT_FOLDER } from './builtin/kept-output.ts'
export { findRipgrep } from './builtin/ripgrep.ts'
export { builtinServerTools, type ServeToolsOptions, serveTools } from './builtin/serve-tools.ts'
export { getServerFile } from './builtin/server-file.ts'
export { type CallTarget, noTarget } from './call-target.ts'
export type { CallProgress } from './connection.ts'
export { agreeToSurface, type DriftedField, type DriftedTool, describeDrift, soundLock } from './drift.ts'
export { type ExecuteOptions, executeTool, type ToolCall } from './execute-tool.ts'
export {
  checkGate,
  type GateCall,
  type GateRules,
  type GateStep,
  isOwnToolAllowed,
  type OwnTool,
  type Verdict,
} from './gate.ts'
export type { ServerCatalog } from './gpars-servers.ts'
export { type HookOutcome, type HookPlace, type HookRun, type Hooks, openHooks } from './hook.ts'
export { hookRoot, keepHookFiles, lockHookFiles } from './hook-files.ts'
export type { NpmPackage } from './npm-package.ts'
export {
  openPackageStore,
  type PackageProgress,
  type PackageStore,
  readLockFile,
  type StoredPackage,
} from './package-store.ts'
export { type ProgramTransport, programTransport } from './program-transport.ts'
export { openRedactor, type Redactor } from './redactor.ts'
export { buildRegistry, type Registry, type ResolvedTool } from './registry.ts'
export type { BoxLaunch } from './sandbox/box.ts'
export { type BoxLimits, type BoxPolicy, resolveLimits } from './sandbox/box-policy.ts'
export { MEMORY_LIMIT } from './sandbox/boxed.ts'
export type { EgressDecision, HostList } from './sandbox/egress-proxy.ts'
export { findHostRule, type HostRule, isHostCovered } from './sandbox/egress-rule.ts'
export { giveTree, type Identity, resolveIdentity } from './sandbox/identity.ts'
export { readLimits } from './sandbox/machine-limits.ts'
export type { Exit, RunningProgram } from './sandbox/running-program.ts'
export { openSandbox, type Sandbox, type SandboxMode, type SandboxOptions } from './sandbox/sandbox.ts'
export { checkSandbox, type SandboxStatus } from './sandbox/self-test.ts'
export { HOME as boxHome } from './sandbox/system-files.ts'
export type { LockFiles } from './server-launch.ts'
export { collectLockFiles, type PinnedServer, type PinOptions, type ProposedClass, pinServer } from './server-pin.ts'
export {
  type EnumeratedServer,
  type InsidePort,
  openServerPool,
  type PoolEvent,
  type ServerPool,
  type ServerUse,
  type Surroundings,
  serverIdentity,
} from './server-pool.ts'
export type { Spill, ToolResult } from './tool-result.ts'
export { type OpenToolchains, openToolchains } from './toolchain/open-toolchains.ts'
export { type PassedEnvironment, passEnvironment, whyReserved } from './toolchain/passed-environment.ts'
export { readRegistrySettings } from './toolchain/registry-settings.ts'
export type { Skipped, Toolchains } from './toolchain/toolchains.ts'
export { dialUpstream, useUpstream } from './upstream-fetch.ts'
export { checkServer, driftError, type Verification } from './verification.ts'
