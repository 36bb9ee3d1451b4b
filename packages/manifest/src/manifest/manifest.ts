import { SkillNames } from '@matrix/protocol'
import * as z from 'zod'
import { AGENT_URI_SHAPE, isAgentUri } from './agent-uri.ts'
import { ArgumentRoles } from './argument-role.ts'
import {
  ALIAS_SHAPE,
  DIGEST_SHAPE,
  isExactVersion,
  MAX_ALIAS_LENGTH,
  TOOL_NAME_SHAPE,
  VERSION_SHAPE,
} from './tool-uri.ts'

/** What a tool does to the world, by the strongest thing it does. `chain` has its place in the format and never runs. */
export const SideEffect = z.enum(['read', 'write', 'network', 'shell', 'chain'])
export type SideEffect = z.infer<typeof SideEffect>

const text = z.string().min(1)
const version = z
  .string()
  .refine(isExactVersion, 'one exact version, such as 2026.8.31')
  .meta({ pattern: VERSION_SHAPE.source, maxLength: 256 })
const digest = z.string().regex(DIGEST_SHAPE, 'sha256: and 64 lower-case hex digits')
/** Either a list of `KEY=VALUE` or an object; a bare `$env:NAME` in a list stands for `NAME=$env:NAME`. */
export const Assignments = z.union([z.array(z.string()), z.record(z.string(), z.string())])
export type Assignments = z.infer<typeof Assignments>

export const Tool = z.strictObject({
  name: z.string().regex(TOOL_NAME_SHAPE, 'a tool name: up to 128 letters, digits, "_", "." and "-"'),
  description: z.string().optional().describe('What the model is told; the server’s own description never reaches it.'),
  side_effect_class: SideEffect,
  arguments: ArgumentRoles.optional().describe(
    'Which arguments are paths, commands and hosts, for the lists of a policy. Absent: as the lock proposed.',
  ),
  timeout_ms: z
    .int()
    .nonnegative()
    .optional()
    .describe(
      'How long a call may take in all. 0 or absent: 10 minutes without a sign of progress, or what the user set.',
    ),
})
export type Tool = z.infer<typeof Tool>

const common = {
  alias: z
    .string()
    .regex(ALIAS_SHAPE, 'lower-case letters, digits, "-" and single "_", starting with a letter or digit')
    .max(MAX_ALIAS_LENGTH),
  version: version.describe('The version of the package; it is the pin of every tool URI of this server.'),
  tools: z.array(Tool).min(1).describe('Every tool the server advertises, no more and no fewer.'),
}

export const StdioServer = z.strictObject({
  ...common,
  transport: z.literal('stdio'),
  command: text,
  args: z.array(z.string()).optional(),
  env: Assignments.optional().describe('KEY=VALUE or KEY=$env:NAME; credentials only as references.'),
  package_digest: digest.describe('sha256 of the published package.'),
})
export type StdioServer = z.infer<typeof StdioServer>

export const HttpServer = z.strictObject({
  ...common,
  transport: z.literal('http'),
  endpoint: z.url({ protocol: /^https?$/, error: 'an http or https URL' }),
  headers: Assignments.optional().describe('Credentials only as references: "Bearer $env:TOKEN".'),
  package_digest: digest
    .optional()
    .describe('Nothing is installed for a remote server; the digest of its tool list may stand here.'),
})
export type HttpServer = z.infer<typeof HttpServer>

export const Server = z.discriminatedUnion('transport', [StdioServer, HttpServer])
export type Server = z.infer<typeof Server>

export const NativeTool = z.strictObject({
  namespace: z.enum(['argus', 'orob', 'plv', 'pofq', 'registry', 'payments', 'attest', 'chain']),
  name: z.string().regex(TOOL_NAME_SHAPE, 'a tool name'),
  version: text,
  digest,
  side_effect_class: SideEffect.optional(),
})
export type NativeTool = z.infer<typeof NativeTool>

/** What one agent may use: which MCP servers, pinned how, and which of their effects. */
export const Manifest = z.strictObject({
  $schema: z.string().optional(),
  schema_version: z.literal(1),
  agent: z.string().refine(isAgentUri, 'of the form matrix://agent/<name>').meta({ pattern: AGENT_URI_SHAPE.source }),
  description: z.string().optional(),
  allowed_side_effects: z.array(SideEffect).describe('An empty list allows nothing.'),
  servers: z.array(Server),
  skills: SkillNames.optional().describe(
    'Skills that the agent, and every agent below it, is held to: each has to allow a call.',
  ),
  native_tools: z.array(NativeTool).optional(),
})
export type Manifest = z.infer<typeof Manifest>
