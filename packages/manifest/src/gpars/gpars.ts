import satisfies from 'semver/functions/satisfies.js'
import validRange from 'semver/ranges/valid.js'
import * as z from 'zod'
import { isExactVersion } from '../manifest/tool-uri.ts'

const text = z.string().min(1)
const range = text.refine((version) => validRange(version) !== null, 'a version range, such as >=1.0.0 or ^2.3')

/** A server that an agent needs, and what it needs of it. Scopes are the server's own words; they ask, and never grant. */
const GparsServer = z.strictObject({
  server_id: text.describe('Its identifier in a registry.'),
  version: range,
  permission_scopes: z.array(z.string()),
})
export type GparsServer = z.infer<typeof GparsServer>

/** The published schema asks no more of an optional server than its identifier. */
export const GparsOptionalServer = GparsServer.partial({ version: true, permission_scopes: true })
export type GparsOptionalServer = z.infer<typeof GparsOptionalServer>

const common = {
  id: text.describe('Unique where the agent runs; it is never trusted to prove who the agent is.'),
  version: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/, 'three numbers, such as 0.1.0, without a pre-release part')
    .optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
}

export const GparsRequirements = z.strictObject({
  ...common,
  required_mcp_servers: z.array(GparsServer),
  optional_mcp_servers: z.array(GparsOptionalServer).optional(),
})
export type GparsRequirements = z.infer<typeof GparsRequirements>

const GparsCapability = z.strictObject({ id: text, description: text })
export type GparsCapability = z.infer<typeof GparsCapability>

/** The later shape: what the agent is designed to do, in words; which servers it gets is decided elsewhere. */
export const GparsCapabilities = z.strictObject({ ...common, capabilities: z.array(GparsCapability) })
export type GparsCapabilities = z.infer<typeof GparsCapabilities>

/** What a general-purpose agent says about itself, in either of the two shapes that were published as version 0.1. */
export const Gpars = z.union([GparsRequirements, GparsCapabilities])
export type Gpars = z.infer<typeof Gpars>

/** Whether a server is one that the agent asks for, at a version that will do. Says nothing about what it may do there. */
export function matchesRequirement(
  requirement: Pick<GparsOptionalServer, 'server_id' | 'version'>,
  server: { server_id: string; version: string },
): boolean {
  if (requirement.server_id !== server.server_id || !isExactVersion(server.version)) return false
  return requirement.version === undefined || satisfies(server.version, requirement.version)
}
