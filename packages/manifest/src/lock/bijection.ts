import { MatrixError, printableLine } from '@matrix/protocol'
import { definitionWordProblems } from '../definition/definition-problem.ts'
import { diffSurface } from '../diff/surface-diff.ts'
import { excerpt } from '../diff/text-diff.ts'
import type { Problem } from '../document/finding.ts'
import { isSameJson } from '../document/json-equality.ts'
import type { Path } from '../document/source-text.ts'
import { isPlaceholderDigest } from '../manifest/digest.ts'
import type { Server, SideEffect, Tool } from '../manifest/manifest.ts'
import { findHiddenText, serverSurfaceDigest, type ToolSurface } from './surface.ts'

/** One line of declared against discovered. */
export type BijectionRow = {
  name: string
  state: 'same' | 'missing' | 'undeclared' | 'twice' | 'changed'
  side_effect_class?: SideEffect
}

export type Bijection = { problems: Problem[]; rows: BijectionRow[] }

export type BijectionOptions = {
  /** The definitions a person agreed to, by name, from a lock that has passed `checkLock`. */
  locked?: Readonly<Record<string, { definition: ToolSurface }>> | undefined
  /** The way to the server in its document. */
  path?: Path
}

/** Holds what a manifest declares of a server against what the server advertises: the same names, and with a lock the same definitions. */
export function checkBijection(
  server: Server,
  discovered: readonly ToolSurface[],
  { locked, path = [] }: BijectionOptions = {},
): Bijection {
  const steps = new Map(server.tools.map(({ name }, index) => [name, [...path, 'tools', index] as Path]))
  const declared = new Map(server.tools.map((tool) => [tool.name, tool]))
  const advertised = new Map<string, ToolSurface>()
  const bijection: Bijection = { problems: [], rows: [] }

  for (const surface of discovered) {
    const { name } = surface
    const where = steps.get(name) ?? [...path, 'tools']
    if (advertised.has(name)) report(bijection, { name, state: 'twice' }, [twice(server.alias, name, where)])
    else {
      reportDiscovered(bijection, { server, surface, tool: declared.get(name), locked, where })
    }
    advertised.set(name, surface)
  }
  for (const tool of server.tools)
    if (!advertised.has(tool.name)) {
      const { name, side_effect_class } = tool
      const where = steps.get(name) ?? path
      report(bijection, { name, state: 'missing', side_effect_class }, [missing(server.alias, name, where)])
    }
  bijection.problems.push(...digestProblems(server, discovered, path))
  return bijection
}

/** Whether a definition contradicts the class a person gave to the tool. Only what the server says outright counts, and never in favour of the tool. */
export function classProblems(tool: Tool, { annotations = {} }: ToolSurface, where: Path): Problem[] {
  const { name, side_effect_class: given } = tool
  const said: string[] = []
  if (given === 'read' && annotations.readOnlyHint === false) said.push('not read-only')
  if (given === 'read' && annotations.destructiveHint === true && annotations.readOnlyHint !== true)
    said.push('destructive')
  if ((given === 'read' || given === 'write') && annotations.openWorldHint === true)
    said.push('reaching out into the open world')
  if (said.length === 0) return []
  return [
    {
      rule: 'MX014',
      path: [...where, 'side_effect_class'],
      message: `"${name}" is declared as "${given}", but its server calls it ${said.join(' and ')}.`,
    },
  ]
}

/** Hidden characters anywhere in a definition, one problem for each tool that has any. */
export function hiddenTextProblems(surface: ToolSurface, where: Path): Problem[] {
  const found = findHiddenText(surface)
  if (found.length === 0) return []
  const places = found.slice(0, 3).map(({ place, characters }) => `${characters.join(', ')} in ${excerpt(place)}`)
  const more = found.length > 3 ? ` and ${found.length - 3} more places` : ''
  const message = `The definition of ${quote(surface.name)} holds characters that nobody sees: ${places.join('; ')}${more}.`
  return [{ rule: 'MX024', path: where, message, fix: 'Do not use this server until its author removes them.' }]
}

/** Declared against discovered as two plain columns. */
export function formatBijection({ rows }: Bijection): string {
  const lines = rows.map(({ name, state, side_effect_class: given }) => {
    const shown = excerpt(name, 60)
    const left = state === 'undeclared' ? '' : given ? `${shown} (${given})` : shown
    return [left, state === 'missing' ? '' : shown, state === 'same' ? '' : state] as const
  })
  const width = Math.max('declared'.length, ...lines.map(([left]) => left.length))
  const second = Math.max('discovered'.length, ...lines.map(([, right]) => right.length))
  return [['declared', 'discovered', ''] as const, ...lines]
    .map(([left, right, state]) => `${left.padEnd(width)} | ${right.padEnd(second)} ${state}`.trimEnd())
    .join('\n')
}

type Discovered = {
  server: Server
  surface: ToolSurface
  tool: Tool | undefined
  locked: BijectionOptions['locked']
  where: Path
}

function reportDiscovered(bijection: Bijection, { server, surface, tool, locked, where }: Discovered): void {
  const changed = tool && locked ? changeProblems(server.alias, lockedDefinition(locked, tool), surface, where) : []
  // What is still as it was locked was looked through when the lock was checked.
  const isKnown = tool && locked && changed.length === 0
  const problems = [
    ...(tool ? classProblems(tool, surface, where) : [undeclared(server.alias, surface.name, where)]),
    ...changed,
    ...(isKnown
      ? []
      : readably(surface, where, () => [
          ...hiddenTextProblems(surface, where),
          ...definitionWordProblems(surface, where),
        ])),
  ]
  const state = !tool ? 'undeclared' : changed.length > 0 ? 'changed' : 'same'
  report(bijection, { name: surface.name, state, ...(tool && { side_effect_class: tool.side_effect_class }) }, problems)
}

function lockedDefinition(locked: NonNullable<BijectionOptions['locked']>, { name }: Tool): ToolSurface | undefined {
  return Object.hasOwn(locked, name) ? locked[name]?.definition : undefined
}

function changeProblems(alias: string, before: ToolSurface | undefined, after: ToolSurface, where: Path): Problem[] {
  if (!before)
    return [
      { rule: 'MX021', path: where, message: `The lock holds no definition of ${quote(after.name)} of "${alias}".` },
    ]
  if (isSameSurface(before, after)) return []
  return readably(after, where, () => {
    const changes = diffSurface(before, after).map(({ message }) => message)
    const words = changes.length > 0 ? changes.join(' ') : 'Only the order of a list in it is different.'
    const message = `"${alias}" no longer defines ${quote(after.name)} as it was locked. ${words}`
    return [{ rule: 'MX021', path: where, message }]
  })
}

function isSameSurface(before: ToolSurface, after: ToolSurface): boolean {
  return (['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const).every((part) =>
    isSameJson(before[part], after[part]),
  )
}

/** A definition that has no canonical form can never be pinned, so it is never the right one. */
function readably(surface: ToolSurface, where: Path, check: () => Problem[]): Problem[] {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    const message = `The definition of ${quote(surface.name)} cannot be pinned. ${error.message}`
    return [{ rule: 'MX021', path: where, message, fix: 'Do not use this server until its author repairs it.' }]
  }
}

/** Nothing is installed for a remote server; the digest in its manifest, if there is one, is that of its tool list. */
function digestProblems(server: Server, discovered: readonly ToolSurface[], path: Path): Problem[] {
  const digest = server.transport === 'http' ? server.package_digest : undefined
  if (!digest || isPlaceholderDigest(digest)) return []
  try {
    const found = serverSurfaceDigest(discovered)
    if (found === digest) return []
    const message = `The tool list of "${server.alias}" has the digest ${found}, not the one in the manifest.`
    return [{ rule: 'MX006', path: [...path, 'package_digest'], message }]
  } catch (error) {
    // Two tools of one name, or a definition beyond measure: both are reported where they are met.
    if (error instanceof MatrixError) return []
    throw error
  }
}

function report(bijection: Bijection, row: BijectionRow, problems: Problem[]): void {
  bijection.rows.push(row)
  bijection.problems.push(...problems)
}

function missing(alias: string, name: string, where: Path): Problem {
  return {
    rule: 'MX010',
    path: [...where, 'name'],
    message: `"${alias}" does not advertise ${quote(name)}, which the manifest declares.`,
  }
}

function undeclared(alias: string, name: string, where: Path): Problem {
  return {
    rule: 'MX011',
    path: where,
    at: 'key',
    message: `"${alias}" advertises ${quote(name)}, which the manifest does not declare.`,
  }
}

function twice(alias: string, name: string, where: Path): Problem {
  return {
    rule: 'MX012',
    path: where,
    message: `"${alias}" advertises ${quote(name)} twice.`,
    fix: 'Only the author of the server can repair this.',
  }
}

function quote(name: string): string {
  return JSON.stringify(printableLine(name.length > 128 ? `${name.slice(0, 128)}…` : name))
}
