import * as z from 'zod'

export const ConfigLayer = z.enum(['global', 'repo', 'local'])
export type ConfigLayer = z.infer<typeof ConfigLayer>

/** One setting as it is in force. Secrets are never shown, only whether there is one. */
export const ConfigEntry = z.object({
  key: z.string(),
  value: z.unknown(),
  isSecret: z.boolean(),
  origin: z.union([ConfigLayer, z.literal('default'), z.literal('environment')]),
  file: z.string().nullable(),
  line: z.number().int().nullable(),
  description: z.string(),
  /** The layers that may set it. */
  settableIn: z.array(ConfigLayer),
})
export type ConfigEntry = z.infer<typeof ConfigEntry>

export const ConfigProblem = z.object({
  layer: ConfigLayer,
  file: z.string(),
  line: z.number().int().nullable(),
  key: z.string().nullable(),
  message: z.string(),
  hint: z.string(),
})
export type ConfigProblem = z.infer<typeof ConfigProblem>

export const ConfigView = z.object({ entries: z.array(ConfigEntry), problems: z.array(ConfigProblem) })
export type ConfigView = z.infer<typeof ConfigView>
