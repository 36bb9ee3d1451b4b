import * as z from 'zod'

/** When a hook runs; `preToolUse` is the one that can stop a call. */
export const HookTrigger = z.enum(['agentSpawn', 'userPromptSubmit', 'preToolUse', 'postToolUse', 'stop'])
export type HookTrigger = z.infer<typeof HookTrigger>

export const Hook = z.strictObject({
  command: z.string().min(1),
  timeout_ms: z.int().min(1).max(600_000).optional().describe('30 seconds when absent.'),
  max_output_size: z.int().nonnegative().optional().describe('In bytes; 10240 when absent.'),
  cache_ttl_seconds: z
    .int()
    .nonnegative()
    .optional()
    .describe('How long a successful answer is kept; not at all when 0.'),
  matcher: z.string().optional().describe('Which tools it runs for; all when absent or "*".'),
  on_error: z
    .enum(['block', 'warn'])
    .optional()
    .describe(
      'What a hook that ran and failed or timed out does to the call; "warn" when absent. One that cannot run blocks.',
    ),
})
export type Hook = z.infer<typeof Hook>

/** What narrows one tool. The named settings are enforced, and a denial always wins; others are the tool's own affair. */
export const ToolSettings = z.looseObject({
  allowedPaths: z.array(z.string().min(1)).optional(),
  deniedPaths: z.array(z.string().min(1)).optional(),
  allowedCommands: z.array(z.string()).optional().describe('Regular expressions over the whole command.'),
  deniedCommands: z.array(z.string()).optional().describe('Regular expressions over the whole command.'),
  allowedHosts: z.array(z.string().min(1)).optional(),
  deniedHosts: z.array(z.string().min(1)).optional(),
  autoAllowReadonly: z.boolean().optional(),
  denyByDefault: z.boolean().optional().describe('Refuses what no list allows, instead of asking.'),
})
export type ToolSettings = z.infer<typeof ToolSettings>

/**
 * What an agent may see, do unasked and is held to: the part of the Agent Format that goes into a lock.
 * Native tools stand under Matrix's own names, tools of servers as `@server/tool`, hooks always as lists.
 */
export const Policy = z.strictObject({
  tools: z.array(z.string()).describe('What the model is shown.'),
  allowedTools: z.array(z.string()).describe('What runs without asking a person.'),
  toolsSettings: z.record(z.string(), ToolSettings),
  resources: z.array(z.string()),
  hooks: z.partialRecord(HookTrigger, z.array(Hook)),
  prompt: z.string().optional(),
  model: z.string().optional(),
})
export type Policy = z.infer<typeof Policy>
