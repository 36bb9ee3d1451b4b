export { type ProposedHost, proposeHosts } from './adapters/host-proposal.ts'
export {
  defaultDataDirectory,
  type NodeOrchestratorOptions,
  openNodeOrchestrator,
} from './adapters/node-orchestrator.ts'
export { nodeWorld } from './adapters/node-world.ts'
export { cleanHome, measureProjects, type ProjectStorage } from './adapters/project-storage.ts'
export { type SandboxView, viewSandbox } from './adapters/sandbox-view.ts'
export { findSetupChoice } from './adapters/setup-host.ts'
export { findOwnServer, findShippedAgents } from './adapters/shipped-agents.ts'
export {
  type Config,
  type ConfigOptions,
  type ConfigProject,
  openConfig,
  type ResolvedConfig,
  type Settings,
  type UnapprovedServer,
} from './config/config.ts'
export type { AuthGroup, MatrixConfig, McpServerConfig } from './config/settings.ts'
export { openTrust, type Subject, subjectDigest, type Trust, type Trusted } from './config/trust.ts'
export {
  type AgentManifest,
  type CatalogOptions,
  type FindOptions,
  type ManifestCatalog,
  openManifestCatalog,
  type UnapprovedAgent,
} from './manifest-catalog.ts'
export {
  type Adapters,
  createModelRoutes,
  type ModelRoutes,
  type ModelSettings,
  openAdapters,
  type SecretSink,
} from './model-routes.ts'
export type { Operations, Orchestrator, Resumed, ServedOperation } from './operations.ts'
export { type OrchestratorPorts, openOrchestrator } from './orchestrator.ts'
export {
  type FindRepository,
  type FoundRepository,
  openProjectRegistry,
  type Project,
  type ProjectRegistry,
  type RegistryOptions,
} from './project-registry.ts'
export {
  buildSystemPrompt,
  formatContext,
  type MessageContext,
  prepareAgentMessage,
  type SystemPromptOptions,
} from './prompt.ts'
export type { AgentWatch, ChatOutcome, Telemetry, WatchedAgent } from './telemetry.ts'
export type { Files, World } from './world.ts'
