import type { Problem } from '../document/finding.ts'
import type { Path } from '../document/source-text.ts'
import type { Template } from './template.ts'

/** Stands where an exact version is still unknown. It is no version, so no draft passes for a manifest with it. */
export const UNPINNED = 'unpinned'
/** Stands where the package was not hashed yet; reported as a placeholder (MX005) until it is. */
export const UNKNOWN_DIGEST = `sha256:${'0'.repeat(64)}`

/** A tool as far as a file can tell; only a person can say what it does to the world. */
export type ToolDraft = { name: string; description?: string }

export type StdioDraft = {
  alias: string
  transport: 'stdio'
  command: string
  args: string[]
  env: string[]
  package_digest: string
  version: string
  tools: ToolDraft[]
}

export type HttpDraft = {
  alias: string
  transport: 'http'
  endpoint: string
  headers: Record<string, string>
  version: string
  tools: ToolDraft[]
}

export type ServerDraft = StdioDraft | HttpDraft

/**
 * A v1 manifest with gaps. It allows no side effect, and `checkManifest` refuses it for as long as a server has no exact
 * version, no digest, no tools or tools without a class: nothing that was never looked at can pass for pinned.
 */
export type ManifestDraft = {
  schema_version: 1
  agent: string
  description?: string
  allowed_side_effects: []
  servers: ServerDraft[]
}

/** A value of another program's file, with the way to it. */
export type Piece = { template: Template; path: Path }
export type NamedPiece = Piece & { name: string }

/** How another program starts or reaches a server, before its secrets are taken out. */
export type FoundLaunch =
  | { transport: 'stdio'; command: Piece; args: Piece[]; env: NamedPiece[] }
  | { transport: 'http'; endpoint: Piece; headers: NamedPiece[] }

export type FoundServer = {
  name: string
  path: Path
  launch: FoundLaunch
  version?: string | undefined
  package_digest?: string | undefined
  tools?: ToolDraft[]
}

/** What a file says, server by server, and what is to be said about it. */
export type Found = {
  servers: FoundServer[]
  problems: Problem[]
  agent?: string | undefined
  description?: string | undefined
}

export function piecesOf(launch: FoundLaunch): Piece[] {
  return launch.transport === 'stdio'
    ? [launch.command, ...launch.args, ...launch.env]
    : [launch.endpoint, ...launch.headers]
}

export function leftOut(message: string, path: Path, fix = 'Add it to the draft if you need it.'): Problem {
  return { rule: 'MX029', path, message, fix }
}
