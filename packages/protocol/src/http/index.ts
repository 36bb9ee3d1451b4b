export { AgentProposalView, AgentSource, AgentToAdd, AgentView, LeftOutServer, NewAgentFile } from './agent-view.ts'
export { CheckoutFiles, findCheckoutFiles } from './checkout-file.ts'
export { ConfigEntry, ConfigLayer, ConfigProblem, ConfigView } from './config-view.ts'
export { SessionConfiguration } from './configuration.ts'
export { DaemonFile } from './daemon-file.ts'
export { daemonFileName } from './daemon-file-name.ts'
export { DeviceView, PublicJwk } from './device.ts'
export { Cursor, EventPage, Frame, SessionEvent } from './feed.ts'
export { loginLabel, loginProofText } from './login.ts'
export { Forward, ListedHost } from './network.ts'
export { Problem, ProjectId, ProjectView } from './project.ts'
export {
  ChangesView,
  FileChange,
  FlaggedFile,
  MergeOutcome,
  MergeRequest,
  Overlap,
  SnapshotView,
  WorktreeView,
} from './review.ts'
export type { Access, Method, Route, RouteInput, RouteOutput, RouteRequest } from './route.ts'
export { Failure, FeedQuery, feedPath, type Operation, type Routes, routes } from './routes.ts'
export { SetupChoice, SetupView } from './setup.ts'
export { SkillDetail, SkillState, SkillView } from './skill.ts'
export {
  Activity,
  Attention,
  AttentionKind,
  BackgroundProcess,
  ServerDrift,
  ServerStatus,
  TaskDetail,
  TaskView,
  ToolStatus,
  ToolsView,
} from './task-view.ts'
