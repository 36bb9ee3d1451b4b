import { isSameJson, isSameUnordered } from '../document/json-equality.ts'
import { excerpt, formatTextDiff } from './text-diff.ts'

/** `widened` accepts more than before, `narrowed` less; `text` changes what a model reads; `other` cannot be told. */
export type SchemaChange = {
  direction: 'widened' | 'narrowed' | 'text' | 'other'
  message: string
  before: unknown
  after: unknown
}

type Schema = Readonly<Record<string, unknown>>
type Compare = (before: Schema, after: Schema, place: string, keyword: string) => SchemaChange[]

/** What changed from one JSON Schema to another, in words. The order of keys, `required`, `enum` and alternatives does not count. */
export function diffSchema(before: unknown, after: unknown): SchemaChange[] {
  const changes = compareSchemas(before, after, '')
  // Nothing may slip through because no comparison below knows it.
  return changes.length > 0 || isSameUnordered(before, after)
    ? changes
    : [change('other', '', 'is written differently', before, after)]
}

function compareSchemas(before: unknown, after: unknown, place: string): SchemaChange[] {
  if (isSameJson(before, after)) return []
  if (before === false) return [change('widened', place, 'is accepted now', before, after)]
  if (after === false) return [change('narrowed', place, 'is no longer accepted', before, after)]
  const [old, now] = [before === true ? {} : before, after === true ? {} : after]
  if (!isObject(old) || !isObject(now)) return [change('other', place, 'is not a schema', before, after)]

  if (isUnion(old) !== isUnion(now))
    return [...diffText(old, now, place, 'description'), ...compareForms(formsOf(old), formsOf(now), place)]
  return keywordsOf(old, now).flatMap((keyword) => compareKeyword(old, now, place, keyword))
}

function compareKeyword(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const known = Object.hasOwn(comparisons, keyword) ? comparisons[keyword] : undefined
  const isReadable = [before[keyword], after[keyword]].every((value) => value === undefined || known?.reads(value))
  return (known && isReadable ? known.compare : diffOther)(before, after, place, keyword)
}

const comparisons: Readonly<Record<string, { reads: (value: unknown) => boolean; compare: Compare }>> = {
  ...known(['description', 'title'], isText, diffText),
  ...known(['type'], (value) => isText(value) || Array.isArray(value), diffType),
  ...known(['properties'], isObject, diffProperties),
  ...known(['required'], isTextList, diffRequired),
  ...known(['additionalProperties', 'unevaluatedProperties'], isSchema, diffOpenness),
  ...known(['items'], isSchema, diffItems),
  ...known(['enum'], Array.isArray, diffValues),
  ...known(['anyOf', 'oneOf'], Array.isArray, diffForms),
  ...known(['allOf'], Array.isArray, diffConditions),
  ...known(['$defs', 'definitions'], isObject, diffDefinitions),
  ...known(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'], isNumber, diffBound(1)),
  ...known(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'], isNumber, diffBound(-1)),
  ...known(
    ['pattern', 'format', 'multipleOf', 'uniqueItems', 'propertyNames', 'not', 'contains'],
    () => true,
    diffLimit,
  ),
}

function known(
  keywords: readonly string[],
  reads: (value: unknown) => boolean,
  compare: Compare,
): Record<string, { reads: (value: unknown) => boolean; compare: Compare }> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, { reads, compare }]))
}

function diffText(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const [old = '', now = ''] = [before[keyword], after[keyword]]
  if (old === now) return []
  return [change('text', place, `has another ${keyword}: ${formatTextDiff(String(old), String(now))}`, old, now)]
}

function diffType(before: Schema, after: Schema, place: string): SchemaChange[] {
  return compareSets(typesOf(before), typesOf(after), place, 'type')
}

function diffValues(before: Schema, after: Schema, place: string): SchemaChange[] {
  return compareSets(valuesOf(before), valuesOf(after), place, 'allowed values')
}

function compareSets(
  before: readonly unknown[] | undefined,
  after: readonly unknown[] | undefined,
  place: string,
  what: string,
): SchemaChange[] {
  if (!after) return before ? [change('widened', place, `no longer restricts its ${what}`, before, after)] : []
  if (!before) return [change('narrowed', place, `restricts its ${what} to ${list(after)}`, before, after)]
  const [removed, added] = exchanged(before, after)
  if (removed.length + added.length === 0) return []
  if (removed.length === 0) return [change('widened', place, `adds ${list(added)} to its ${what}`, before, after)]
  if (added.length === 0) return [change('narrowed', place, `drops ${list(removed)} from its ${what}`, before, after)]
  return [change('other', place, `changes its ${what} from ${list(before)} to ${list(after)}`, before, after)]
}

function diffProperties(before: Schema, after: Schema, place: string): SchemaChange[] {
  const [old, now] = [objectOf(before.properties), objectOf(after.properties)]
  const required = new Set(listOf(after.required))
  return namesOf(old, now).flatMap((name) => {
    const path = joined(place, name)
    if (!Object.hasOwn(old, name)) {
      const word = required.has(name) ? 'required' : 'optional'
      return [change('widened', path, `is a new ${word} parameter`, undefined, now[name])]
    }
    if (Object.hasOwn(now, name)) return compareSchemas(old[name], now[name], path)
    const isGone = after.additionalProperties === false
    return [change(isGone ? 'narrowed' : 'other', path, 'is no longer described', old[name], undefined)]
  })
}

/** Parameters that came or went are reported as such; here only those that stayed. */
function diffRequired(before: Schema, after: Schema, place: string): SchemaChange[] {
  const [dropped, added] = exchanged(listOf(before.required), listOf(after.required))
  const isDescribed = (schema: Schema, name: unknown) => Object.hasOwn(objectOf(schema.properties), String(name))
  const hasStayed = (name: unknown) => isDescribed(before, name) === isDescribed(after, name)
  const at = (name: unknown) => joined(place, String(name))
  return [
    ...dropped.filter(hasStayed).map((name) => change('widened', at(name), 'is no longer required', true, false)),
    ...added.filter(hasStayed).map((name) => change('narrowed', at(name), 'is required now', false, true)),
  ]
}

function diffOpenness(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const [old, now] = [before[keyword] ?? true, after[keyword] ?? true]
  if (isSameJson(old, now) || (isOpen(old) && isOpen(now))) return []
  if (isOpen(now)) return [change('widened', place, 'takes parameters of any name now', old, now)]
  if (now === false) return [change('narrowed', place, 'takes no other parameters any more', old, now)]
  if (old === false) return [change('widened', place, 'takes other parameters now', old, now)]
  return compareSchemas(old, now, joined(place, '*'))
}

function diffItems(before: Schema, after: Schema, place: string): SchemaChange[] {
  return compareSchemas(before.items ?? true, after.items ?? true, `${place}[]`)
}

function diffForms(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const [old, now] = [before[keyword], after[keyword]]
  if (old === undefined) return [change('narrowed', place, 'takes only certain forms now', old, now)]
  if (now === undefined) return [change('widened', place, 'is no longer held to certain forms', old, now)]
  return compareForms(listOf(old), listOf(now), place)
}

function compareForms(before: readonly unknown[], after: readonly unknown[], place: string): SchemaChange[] {
  const [removed, added] = exchanged(before, after)
  if (removed.length === 1 && added.length === 1) return compareSchemas(removed[0], added[0], place)
  if (removed.length + added.length === 0) return []
  if (removed.length === 0) return [change('widened', place, 'takes another form as well', before, after)]
  if (added.length === 0) return [change('narrowed', place, 'takes one form less', before, after)]
  return [change('other', place, 'takes other forms than before', before, after)]
}

function diffConditions(before: Schema, after: Schema, place: string): SchemaChange[] {
  const [removed, added] = exchanged(listOf(before.allOf), listOf(after.allOf))
  if (removed.length === 1 && added.length === 1) return compareSchemas(removed[0], added[0], place)
  if (removed.length + added.length === 0) return []
  const direction = added.length === 0 ? 'widened' : removed.length === 0 ? 'narrowed' : 'other'
  return [change(direction, place, 'has other conditions than before', before.allOf, after.allOf)]
}

function diffDefinitions(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const [old, now] = [objectOf(before[keyword]), objectOf(after[keyword])]
  return namesOf(old, now).flatMap((name) => {
    const path = joined(place, `#${name}`)
    if (Object.hasOwn(old, name) && Object.hasOwn(now, name)) return compareSchemas(old[name], now[name], path)
    return [change('other', path, 'is defined in one of the two only', old[name], now[name])]
  })
}

/** An upper bound (1) admits more when it rises, a lower one (-1) when it falls. */
function diffBound(sign: 1 | -1): Compare {
  return (before, after, place, keyword) => {
    const [old, now] = [before[keyword], after[keyword]]
    if (typeof old !== 'number' || typeof now !== 'number') return diffLimit(before, after, place, keyword)
    if (old === now) return []
    const direction = (now - old) * sign > 0 ? 'widened' : 'narrowed'
    return [change(direction, place, `changes ${keyword} from ${old} to ${now}`, old, now)]
  }
}

/** Something that only ever restricts: without it, more is admitted. */
function diffLimit(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const [old, now] = [before[keyword] ?? false, after[keyword] ?? false]
  if (isSameJson(old, now)) return []
  if (now === false) return [change('widened', place, `drops its ${keyword} ${show(old)}`, old, undefined)]
  if (old === false) return [change('narrowed', place, `gets the ${keyword} ${show(now)}`, undefined, now)]
  return diffOther(before, after, place, keyword)
}

function diffOther(before: Schema, after: Schema, place: string, keyword: string): SchemaChange[] {
  const [old, now] = [before[keyword], after[keyword]]
  if (isSameJson(old, now)) return []
  return [change('other', place, `changes ${show(keyword)} from ${show(old)} to ${show(now)}`, old, now)]
}

function change(
  direction: SchemaChange['direction'],
  place: string,
  words: string,
  before: unknown,
  after: unknown,
): SchemaChange {
  return { direction, message: `${place === '' ? 'the whole' : `"${excerpt(place)}"`} ${words}`, before, after }
}

/** Every integer is a number, so `number` stands for both. */
function typesOf({ type }: Schema): readonly unknown[] | undefined {
  if (type === undefined) return undefined
  const types = Array.isArray(type) ? type : [type]
  return types.includes('number') ? [...new Set([...types, 'integer'])] : types
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if (schema.const !== undefined) return [schema.const]
  return schema.enum === undefined ? undefined : listOf(schema.enum)
}

/** Nothing but a choice between forms; a schema that is not is a choice of one. */
function isUnion(schema: Schema): boolean {
  return Array.isArray(schema.anyOf ?? schema.oneOf) && schema.type === undefined && schema.properties === undefined
}

function formsOf(schema: Schema): readonly unknown[] {
  return isUnion(schema) ? [...listOf(schema.anyOf), ...listOf(schema.oneOf)] : [schema]
}

function keywordsOf(before: Schema, after: Schema): string[] {
  const rank = ['description', 'type', 'properties', 'required', 'additionalProperties']
  const weight = (keyword: string) => (rank.includes(keyword) ? rank.indexOf(keyword) : rank.length)
  const keywords = namesOf(before, after).map((keyword) => (keyword === 'const' ? 'enum' : keyword))
  return [...new Set(keywords)].sort((a, b) => weight(a) - weight(b))
}

function exchanged(before: readonly unknown[], after: readonly unknown[]): [removed: unknown[], added: unknown[]] {
  const missingIn = (values: readonly unknown[]) => {
    const forms = new Set(values.map(formOf))
    return (value: unknown) => !forms.has(formOf(value))
  }
  return [before.filter(missingIn(after)), after.filter(missingIn(before))]
}

/** One text for each value, whatever the order of its keys. */
function formOf(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(byKey)) : part,
  )
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectOf(value: unknown): Schema {
  return isObject(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText)
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isObject(value)
}

function isOpen(value: unknown): boolean {
  return value === true || isSameJson(value, {})
}

function namesOf(before: Schema, after: Schema): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
}

function joined(place: string, name: string): string {
  return place === '' ? name : `${place}.${name}`
}

function list(values: readonly unknown[]): string {
  return values.slice(0, 8).map(show).join(', ') + (values.length > 8 ? ', …' : '')
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : excerpt(JSON.stringify(value), 80)
}
