export { type AgentUri, formatAgentUri, parseAgentUri } from './agent-uri.ts'
