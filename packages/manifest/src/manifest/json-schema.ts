import * as z from 'zod'
import { Manifest } from './manifest.ts'

/** The manifest format as JSON Schema (draft 7), for editors and for validators in other languages. */
export function manifestJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(Manifest, { target: 'draft-7' })
  return { $schema, $id: 'urn:matrix:agent-manifest:v1', title: 'Matrix agent manifest, version 1', ...schema }
}
