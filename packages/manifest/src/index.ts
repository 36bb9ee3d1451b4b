export type { AgentFormat } from './agent-format/agent-format.ts'
export { checkAgentFormat } from './agent-format/agent-format-check.ts'
export { type Attenuation, attenuate, type Grant } from './attenuation/attenuation.ts'
export { type DefinitionFinding, lintDefinitions, lintText } from './definition/definition-lint.ts'
export { formatDefinitionFinding } from './definition/definition-problem.ts'
export { type DefinitionRuleId, type DefinitionSeverity, definitionRules } from './definition/definition-rule.ts'
export { agentNameOf, type DetectedDocument, detectDocument } from './detect.ts'
export type { Change } from './diff/change.ts'
export { diffLock } from './diff/lock-diff.ts'
export { diffManifest } from './diff/manifest-diff.ts'
export { diffText } from './diff/text-diff.ts'
export { DEFAULT_TIMEOUT_MS, effectiveTimeoutMs } from './diff/tool-diff.ts'
export { type Document, MAX_DOCUMENT_BYTES, parseDocument } from './document/document.ts'
export { type Finding, type Mode, type Problem, placeProblems } from './document/finding.ts'
export { findRule, type Rule, type RuleId, rules, type Severity } from './document/rule.ts'
export { detectFormat, type Format } from './format.ts'
export { type Gpars, matchesRequirement } from './gpars/gpars.ts'
export { checkGpars } from './gpars/gpars-check.ts'
export { importServers, type ServerImport } from './import/import.ts'
export type { HttpDraft, ManifestDraft, ServerDraft, StdioDraft } from './import/manifest-draft.ts'
export { proposeArgumentRoles } from './lock/argument-role-proposal.ts'
export { type Bijection, checkBijection, formatBijection } from './lock/bijection.ts'
export { findUndeclared, findUnnamed } from './lock/declared-argument.ts'
export {
  createLock,
  formatLock,
  Lock,
  LockedPackage,
  LockedServer,
  LockedTool,
  type ResolvedServer,
  UnavailableServer,
} from './lock/lock.ts'
export { checkLock } from './lock/lock-check.ts'
export { describeLock } from './lock/lock-words.ts'
export { proposeSideEffect, type SideEffectProposal } from './lock/side-effect-proposal.ts'
export { serverSurfaceDigest, ToolSurface, toolSurfaceDigest } from './lock/surface.ts'
export { type AgentUri, formatAgentUri, parseAgentUri } from './manifest/agent-uri.ts'
export { type ArgumentRole, ArgumentRoles, formatRoles, hasRole } from './manifest/argument-role.ts'
export { isLiteralCredential, isSecretName } from './manifest/credential.ts'
export { canonicalForm, digestBytes, digestValue, isPlaceholderDigest, manifestDigest } from './manifest/digest.ts'
export { findEnvironmentNames, readAssignments, resolveEnvironment } from './manifest/environment-reference.ts'
export { findInjectedCode, type Injection, type LaunchText } from './manifest/injected-code.ts'
export { formatJsonSchema, type SchemaFormat, schemaFormats } from './manifest/json-schema.ts'
export { type Launcher, parseLauncher } from './manifest/launcher.ts'
export { HttpServer, Manifest, NativeTool, Server, SideEffect, StdioServer, Tool } from './manifest/manifest.ts'
export { checkManifest } from './manifest/manifest-check.ts'
export { isOwnServer, isOwnServerTool, reservedAliases } from './manifest/own-server.ts'
export { type Ecosystem, parsePackageSpec } from './manifest/package-spec.ts'
export { formatToolUri, isExactVersion, isPin, parseToolUri, type ToolUri } from './manifest/tool-uri.ts'
export { buildWireNames, type WireNames } from './manifest/wire-name.ts'
export { findFixedStart, isCommandAllowed, isCommandDenied } from './policy/command-pattern.ts'
export { isHostDenied, matchesHostList } from './policy/host-list.ts'
export {
  compilePathList,
  fixedFolders,
  isPathDenied,
  isReadablePath,
  matchesPathList,
  mayHoldDenied,
  type PathBase,
} from './policy/path-list.ts'
export { Hook, HookTrigger, Policy, ToolSettings } from './policy/policy.ts'
export { renameServers } from './policy/policy-alias.ts'
export { findToolSettings, isToolAllowed, isToolVisible, matchesHook, type ToolName } from './policy/tool-pattern.ts'
export { type AgentSkill, readAgentSkill, skillName } from './skill/agent-skill.ts'
export { parseSkill, type Skill } from './skill/skill.ts'
export { isOwnToolInSkill, limitsInSkill, type PinnedTool, type SkillLimit } from './skill/skill-limit.ts'
export { isToolInSkill, type ToolAllowlist } from './skill/tool-allowlist.ts'
export { type Report, type VerifyOptions, verifyDocument } from './verify.ts'
