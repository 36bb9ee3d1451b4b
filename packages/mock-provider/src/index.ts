export type { MockProvider, MockProviderOptions, SeenRequest } from './mock-provider.ts'
export { openMockProvider } from './mock-provider.ts'
export { Conversation, Fault, Playbook, parsePlaybook, ReplyPart, ScriptedCall, TextPattern, Turn } from './playbook.ts'
