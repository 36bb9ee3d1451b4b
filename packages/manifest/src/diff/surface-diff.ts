import { lintText } from '../definition/definition-lint.ts'
import { isSameJson } from '../document/json-equality.ts'
import { findHiddenText, findTexts, type HiddenText, type ToolSurface } from '../lock/surface.ts'
import type { Change, Danger } from './change.ts'
import { diffSchema, type SchemaChange } from './schema-diff.ts'
import { excerpt, formatTextDiff } from './text-diff.ts'

export type SurfaceChange = Omit<Change, 'where'>

/** What changed in the definition of one tool, in words; nothing when only the order of something did. */
export function diffSurface(before: ToolSurface, after: ToolSurface): SurfaceChange[] {
  if (isSameJson(before, after)) return []
  return [
    ...diffHiddenText(before, after),
    ...diffText('description', before.description, after.description),
    ...diffText('title', before.title, after.title),
    ...diffInput(before.inputSchema, after.inputSchema),
    ...diffOutput(before.outputSchema, after.outputSchema),
    ...diffAnnotations(before.annotations ?? {}, after.annotations ?? {}),
    ...diffPersuasion(before, after),
  ]
}

/** New texts anywhere in a definition that speak to the model about something else; its own title and description are shown as such. */
export function diffPersuasion(before: ToolSurface | undefined, after: ToolSurface): SurfaceChange[] {
  const known = new Set(before ? findTexts(before).map(({ text }) => text) : [])
  const shown = before ? ['description', 'title'] : []
  return findTexts(after)
    .filter(({ place, text }) => !shown.includes(place) && !known.has(text) && isPersuasive(text))
    .map(({ place, text }) => ({
      kind: 'tool_description',
      danger: 'high',
      message: `A text that speaks to the model about more than the tool appeared in ${excerpt(place)}: ${quoteNear(text)}.`,
      after: text,
    }))
}

/** The words that gave a text away, with what stands around them. */
function quoteNear(text: string): string {
  const start = Math.max(0, (lintText(text)[0]?.offset ?? 0) - 80)
  return JSON.stringify(excerpt(start === 0 ? text : `…${text.slice(start)}`, 400))
}

/** Characters that nobody sees and that were not there before; all of them when there was no tool before. */
export function diffHiddenText(before: ToolSurface | undefined, after: ToolSurface): SurfaceChange[] {
  const textOf = ({ place, characters }: HiddenText) => `${place} ${characters}`
  const known = new Set(before ? findHiddenText(before).map(textOf) : [])
  return findHiddenText(after)
    .filter((text) => !known.has(textOf(text)))
    .map(({ place, characters }) => ({
      kind: 'hidden_characters',
      danger: 'high',
      message: `Characters that nobody sees appeared in ${excerpt(place)}: ${characters.join(', ')}.`,
      after: characters,
    }))
}

/** Whether a text holds what a definition has no reason to say. */
export function isPersuasive(text: string): boolean {
  return lintText(text).some(({ rule }) => rule !== 'hidden-characters')
}

function diffText(what: 'description' | 'title', before = '', after = ''): SurfaceChange[] {
  if (before === after) return []
  const danger = isPersuasive(after) && !isPersuasive(before) ? 'high' : what === 'title' ? 'low' : 'medium'
  const warning = danger === 'high' ? ' It now speaks to the model about more than the tool.' : ''
  const message = `The server describes the tool differently (${what}): ${formatTextDiff(before, after)}.${warning}`
  return [{ kind: 'tool_description', danger, message, before, after }]
}

const inputDanger: Record<SchemaChange['direction'], Danger> = {
  widened: 'high',
  other: 'medium',
  text: 'medium',
  narrowed: 'low',
}

function diffInput(before: unknown, after: unknown): SurfaceChange[] {
  return diffSchema(before, after).map((change) => {
    const isPoisoned = change.direction === 'text' && isPersuasive(String(change.after))
    const verb = change.direction === 'widened' ? 'accepts more' : change.direction === 'narrowed' ? 'accepts less' : ''
    return {
      kind: 'tool_schema',
      danger: isPoisoned ? 'high' : inputDanger[change.direction],
      message: `The input ${verb === '' ? 'changed' : verb}: ${change.message}.`,
      before: change.before,
      after: change.after,
    }
  })
}

/** What a tool answers is data to the model in any case; its form promises less than its text can do. */
function diffOutput(before: unknown, after: unknown): SurfaceChange[] {
  if (isSameJson(before, after)) return []
  if (before === undefined || after === undefined) {
    const message = `The form of the answer is ${after === undefined ? 'no longer' : 'now'} declared.`
    return [{ kind: 'tool_schema', danger: 'low', message, before, after }]
  }
  return diffSchema(before, after).map((change) => ({
    kind: 'tool_schema',
    danger: change.direction === 'text' && isPersuasive(String(change.after)) ? 'high' : 'low',
    message: `The form of the answer changed: ${change.message}.`,
    before: change.before,
    after: change.after,
  }))
}

type Annotations = Readonly<Record<string, unknown>>

/** What an annotation promises about the tool: the value that promises most. The others are what the protocol assumes anyway. */
const promises = new Map<string, boolean>([
  ['readOnlyHint', true],
  ['destructiveHint', false],
  ['openWorldHint', false],
  ['idempotentHint', true],
])

function diffAnnotations(before: Annotations, after: Annotations): SurfaceChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names
    .filter((name) => !isSameJson(before[name], after[name]))
    .map((name) => {
      const [old, now] = [before[name], after[name]]
      const change = `${excerpt(name)} ${show(old)} → ${show(now)}`
      return {
        kind: 'tool_annotations',
        danger: annotationDanger(name, old, now),
        message: `The server changed what it says about the tool: ${change}.`,
        before: old,
        after: now,
      }
    })
}

function annotationDanger(name: string, before: unknown, after: unknown): Danger {
  const promise = promises.get(name)
  if (promise === undefined) return typeof after === 'string' && isPersuasive(after) ? 'high' : 'medium'
  if (before === promise) return name === 'idempotentHint' ? 'medium' : 'high'
  // Nothing was promised before; to admit the worse in so many words is still news.
  return after === promise ? 'low' : 'medium'
}

function show(value: unknown): string {
  return value === undefined ? 'not said' : excerpt(JSON.stringify(value), 80)
}
