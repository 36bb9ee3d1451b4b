import { parseDocument } from './document.ts'
import { type Finding, type Mode, placeProblems } from './finding.ts'
import { checkManifest, type EnvironmentLookup } from './manifest-check.ts'

export type VerifyOptions = { mode?: Mode; environment?: EnvironmentLookup }

export type Report = {
  findings: Finding[]
  /** The document, where it could be read. */
  value: unknown
}

/** Everything that can be found in a document without starting a server. */
export function verifyDocument(bytes: Uint8Array, { mode = 'default', environment }: VerifyOptions = {}): Report {
  const { source, value, findings } = parseDocument(bytes)
  if (value === undefined) return { value, findings }

  const { problems } = checkManifest(value, environment)
  return { value, findings: placeProblems(problems, source, mode) }
}
