import { printableLine } from '@matrix/protocol'
import * as z from 'zod'

const places = z.array(z.string().min(1).max(500))

/**
 * Which arguments of a tool are paths, commands or hosts. A place is the way to an argument: `path`, `edits[].file`, and
 * `files.*` for every field of an object. What lies below a place belongs to it.
 */
export const ArgumentRoles = z.strictObject({
  paths: places.optional(),
  commands: places.optional(),
  hosts: places.optional(),
})
export type ArgumentRoles = z.infer<typeof ArgumentRoles>

export type ArgumentRole = keyof ArgumentRoles

/** Whether an argument at this place has the role. */
export function hasRole(roles: ArgumentRoles | undefined, role: ArgumentRole, place: string): boolean {
  return roles?.[role]?.some((pattern) => pattern === place || matchesPlace(pattern, place)) ?? false
}

/** On one line, for a user. */
export function formatRoles(roles: ArgumentRoles | undefined): string {
  if (!roles) return 'not known'
  const parts = Object.entries(roles).flatMap(([role, places]) =>
    places && places.length > 0 ? [`${role}: ${places.join(', ')}`] : [],
  )
  return parts.length > 0 ? printableLine(parts.join('; ')) : 'none'
}

function matchesPlace(pattern: string, place: string): boolean {
  if (!pattern.includes('*')) return false
  const steps = [pattern, place].map((text) => text.split('.'))
  const [expected = [], found = []] = steps
  return expected.length === found.length && expected.every((step, index) => step === '*' || step === found[index])
}
