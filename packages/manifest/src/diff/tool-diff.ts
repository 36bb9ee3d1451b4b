import { hasHiddenCharacters } from '@matrix/protocol'
import type { ToolSurface } from '../lock/surface.ts'
import { canonicalForm } from '../manifest/digest.ts'
import type { SideEffect, Tool } from '../manifest/manifest.ts'
import { type Change, type Danger, matchUp, pairUp } from './change.ts'
import { diffHiddenText, diffPersuasion, diffSurface, isPersuasive } from './surface-diff.ts'
import { formatTextDiff } from './text-diff.ts'

/** A declared tool, with its definition where a lock knows it. */
export type DefinedTool = { tool: Tool; definition: ToolSurface | undefined }

type Where = { server: string; tool: string }

/** What changed in the tools of one server; `allowed` is what the agent may do now. */
export function diffTools(
  before: readonly DefinedTool[],
  after: readonly DefinedTool[],
  server: string,
  allowed: readonly SideEffect[],
): Change[] {
  const matches = pairUp(
    matchUp(before, after, ({ tool }) => tool.name),
    likenessOf,
  )
  return [
    ...matches.added.flatMap((each) => addedTool(each, server, allowed)),
    ...matches.renamed.flatMap(([old, now]) => renamedTool(old, now, server, allowed)),
    ...matches.kept.flatMap(([old, now]) => diffTool(old, now, { server, tool: now.tool.name })),
    ...matches.removed.map(({ tool }) => removedTool(tool, server)),
  ]
}

/** The words of a manifest that reach the model, compared; hidden characters and instructions in them are the worst that can come. */
export function diffWording(
  before: string | undefined,
  after: string | undefined,
  change: Pick<Change, 'kind' | 'where' | 'danger'> & { what: string },
): Change[] {
  const { what, kind, where, danger } = change
  const [old = '', now = ''] = [before, after]
  if (old === now) return []
  const isHidden = hasHiddenCharacters(now) && !hasHiddenCharacters(old)
  const isWorse = isHidden || (isPersuasive(now) && !isPersuasive(old))
  const warning = isHidden ? ' It now holds characters that nobody sees.' : ''
  const message = `${what} changed: ${formatTextDiff(old, now)}.${warning}`
  return [{ kind, where, danger: isWorse ? 'high' : danger, message, before: old, after: now }]
}

function addedTool({ tool, definition }: DefinedTool, server: string, allowed: readonly SideEffect[]): Change[] {
  const where = { server, tool: tool.name }
  const [danger, may] = mayCall(tool, allowed)
  const message = `"${tool.name}" (${tool.side_effect_class}) is new; this agent ${may} call it.`
  const worst = definition ? [...diffHiddenText(undefined, definition), ...diffPersuasion(undefined, definition)] : []
  const added: Change = { kind: 'tool_added', where, danger, message, after: definition ?? tool }
  return [added, ...worst.map((change) => ({ ...change, where }))]
}

function removedTool(tool: Tool, server: string): Change {
  const message = `"${tool.name}" (${tool.side_effect_class}) is gone.`
  return { kind: 'tool_removed', where: { server, tool: tool.name }, danger: 'low', message, before: tool }
}

function renamedTool(
  before: DefinedTool,
  after: DefinedTool,
  server: string,
  allowed: readonly SideEffect[],
): Change[] {
  const where = { server, tool: after.tool.name }
  const [danger, may] = mayCall(after.tool, allowed)
  const message = `"${before.tool.name}" is gone, and "${after.tool.name}" looks like it under another name; this agent ${may} call it.`
  return [
    { kind: 'tool_renamed', where, danger, message, before: before.tool.name, after: after.tool.name },
    ...diffTool(before, after, where),
  ]
}

function mayCall({ side_effect_class: needs }: Tool, allowed: readonly SideEffect[]): [Danger, string] {
  return allowed.includes(needs) ? ['high', 'may'] : ['medium', 'may not']
}

/** The same in everything but its name. */
function likenessOf({ tool, definition }: DefinedTool): string | undefined {
  return definition ? canonicalForm([definition.description ?? null, definition.inputSchema]) : tool.description
}

function diffTool(before: DefinedTool, after: DefinedTool, where: Where): Change[] {
  const definition = before.definition && after.definition ? diffSurface(before.definition, after.definition) : []
  return [
    ...diffClass(before.tool, after.tool, where),
    ...definition.map((change) => ({ ...change, where })),
    ...diffWording(before.tool.description, after.tool.description, {
      kind: 'tool_description',
      where,
      danger: 'medium',
      what: 'What the model is told about the tool',
    }),
    ...diffTimeout(before.tool, after.tool, where),
  ]
}

const strength: readonly SideEffect[] = ['read', 'write', 'network', 'shell', 'chain']

/** Either way it is a decision of weight: a weaker class holds the same tool to less, a stronger one lets it do more. */
function diffClass(before: Tool, after: Tool, where: Where): Change[] {
  const [old, now] = [before.side_effect_class, after.side_effect_class]
  if (old === now) return []
  const isWeaker = strength.indexOf(now) < strength.indexOf(old)
  const words = isWeaker
    ? `the weaker "${now}": whatever it does, it is now let through as that`
    : `the stronger "${now}": it may do more than before`
  const message = `The class went from "${old}" to ${words}.`
  return [{ kind: 'tool_class', where, danger: 'high', message, before: old, after: now }]
}

function diffTimeout(before: Tool, after: Tool, where: Where): Change[] {
  const [old, now] = [effectiveTimeoutMs(before), effectiveTimeoutMs(after)]
  if (old === now) return []
  const message = `A call may take ${now} ms instead of ${old} ms.`
  return [{ kind: 'tool_timeout', where, danger: 'low', message, before: old, after: now }]
}

/** How long a call may take where the manifest does not say. */
export const DEFAULT_TIMEOUT_MS = 600_000

/** How long a call of the tool may take. */
export function effectiveTimeoutMs({ timeout_ms: given = 0 }: Tool): number {
  return given === 0 ? DEFAULT_TIMEOUT_MS : given
}
