import * as z from 'zod'
import { AgentFormat } from '../agent-format/agent-format.ts'
import { Gpars } from '../gpars/gpars.ts'
import { Lock } from '../lock/lock.ts'
import { Manifest } from './manifest.ts'

/** The formats that have a published schema, by the name that `matrix schema` takes. */
export const schemaFormats = {
  manifest: { schema: Manifest, id: 'urn:matrix:agent-manifest:v1', title: 'Matrix agent manifest, version 1' },
  'agent-format': { schema: AgentFormat, id: 'urn:matrix:agent-format', title: 'Agent Format, as Matrix reads it' },
  gpars: { schema: Gpars, id: 'urn:matrix:gpars:v0.1', title: 'GPARS capability manifest, version 0.1' },
  lock: { schema: Lock, id: 'urn:matrix:lock:v1', title: 'Matrix lock, version 1' },
} as const
export type SchemaFormat = keyof typeof schemaFormats

/** A format as JSON Schema (draft 7), for editors and for validators in other languages. */
export function formatJsonSchema(format: SchemaFormat): Record<string, unknown> {
  const { schema: source, id, title } = schemaFormats[format]
  const { $schema, ...schema } = z.toJSONSchema(source, { target: 'draft-7' })
  return { $schema, $id: id, title, ...schema }
}
