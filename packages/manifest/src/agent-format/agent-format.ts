import * as z from 'zod'
import { isExactVersion } from '../manifest/tool-uri.ts'
import { Hook } from '../policy/policy.ts'

const texts = z.array(z.string())
const assignments = z.record(z.string(), z.string())
const jsonObject = z.record(z.string(), z.unknown())

/** A server as the Agent Format has it: started by `command`, or reached at `url`. */
export const AgentServer = z.strictObject({
  command: z.string().optional(),
  args: texts.optional(),
  env: assignments.nullish().describe('Values may refer to the environment as ${env:NAME} or $env:NAME.'),
  url: z.string().optional(),
  headers: assignments.nullish(),
  transport: z.string().optional().describe('"stdio" or "http"; "type" says the same.'),
  type: z.string().optional(),
  timeout: z.int().nonnegative().optional().describe('Milliseconds for one request; two minutes when absent.'),
  timeout_ms: z.int().nonnegative().optional(),
  disabled: z.boolean().optional(),
  oauth: jsonObject.optional(),
  oauthScopes: texts.optional(),
  auth: z.unknown().optional(),
  autoApprove: texts.optional(),
  disabledTools: texts.optional(),
})
export type AgentServer = z.infer<typeof AgentServer>

/** An agent in the Agent Format, as its author wrote it: any of the spellings that programs have published for it. */
export const AgentFormat = z.strictObject({
  $schema: z.string().optional(),
  spec_version: z.string().optional(),
  name: z.string(),
  version: z
    .string()
    .refine(isExactVersion, 'a semantic version, such as 1.2.0 or 1.0.0-alpha.4')
    .meta({ pattern: '^\\d+\\.\\d+\\.\\d+' })
    .optional(),
  description: z.string().nullish().describe('What a model is told when the agent is offered to it.'),
  prompt: z.string().nullish().describe('The text itself, or file:// and the way to it.'),
  systemPrompt: z.string().nullish(),
  model: z.string().nullish(),
  mcpServers: z.record(z.string(), AgentServer).optional(),
  tools: texts.optional().describe('What the model is shown; nothing when absent.'),
  allowedTools: texts.optional().describe('What runs without asking; may name more than "tools".'),
  toolAliases: assignments.optional(),
  toolsSettings: z.record(z.string(), jsonObject).optional(),
  toolSettings: z.record(z.string(), jsonObject).optional(),
  resources: z.array(z.union([z.string(), jsonObject])).optional(),
  hooks: z.record(z.string(), z.union([z.array(Hook), Hook])).optional(),
  inputSchema: jsonObject.optional(),
  toolSchema: jsonObject.optional(),
  useLegacyMcpJson: z.boolean().optional(),
  includeMcpJson: z.boolean().optional(),
  keyboardShortcut: z.string().nullish(),
  welcomeMessage: z.string().nullish(),
})
export type AgentFormat = z.infer<typeof AgentFormat>

/** Two names for one thing: a file uses one of them. */
export const agentFormatSynonyms = [
  ['prompt', 'systemPrompt'],
  ['toolsSettings', 'toolSettings'],
  ['inputSchema', 'toolSchema'],
  ['includeMcpJson', 'useLegacyMcpJson'],
] as const satisfies readonly (readonly [keyof AgentFormat, keyof AgentFormat])[]
