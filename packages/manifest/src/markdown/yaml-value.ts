import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument as parseYaml } from 'yaml'
import { MAX_DEPTH } from '../document/document.ts'
import { formatPointer } from '../document/finding.ts'
import type { Path } from '../document/source-text.ts'
import type { TextProblem } from '../skill/skill-section.ts'

/** Where a key and its value stand in a text. */
export type Span = { offset: number; length: number }
type Spans = { key?: Span; value: Span }

/** YAML as the data it says; `value` is undefined where it says none that can be trusted. */
export type YamlValue = { value: unknown; problems: TextProblem[]; spans: ReadonlyMap<string, Spans> }

/** Reads YAML that says plain data: no aliases, tags of one's own, or keys that are no texts. Offsets start at `start`. */
export function readYaml(text: string, start = 0): YamlValue {
  const spans = new Map<string, Spans>()
  if (nestingOf(text) > MAX_DEPTH)
    return {
      value: undefined,
      problems: [problem(start, 0, `The YAML is nested more than ${MAX_DEPTH} levels deep.`, 'Flatten it.')],
      spans,
    }
  // Unique keys are checked here: the library compares each with each.
  const document = parseYaml(text, { prettyErrors: false, uniqueKeys: false, logLevel: 'silent', version: '1.2' })
  // What has a tag that is unknown here would be read as something else than was meant.
  const [first] = [...document.errors, ...document.warnings]
  if (first) {
    const [from, to] = first.pos
    return {
      value: undefined,
      problems: [problem(start + from, to - from, `${first.message}.`, 'Correct the YAML at this place.')],
      spans,
    }
  }
  const problems: TextProblem[] = []
  const value = document.contents ? dataOf(document.contents, { path: [], start, spans, problems }) : undefined
  return { value: problems.length > 0 ? undefined : value, problems, spans }
}

type Walk = { path: Path; start: number; spans: Map<string, Spans>; problems: TextProblem[]; key?: Span }

function dataOf(node: Node, walk: Walk): unknown {
  const place = spanOf(node, walk.start)
  walk.spans.set(formatPointer(walk.path), { ...(walk.key && { key: walk.key }), value: place })
  if (isAlias(node))
    return refuse(walk, place, 'An alias (*) stands for a value from another place.', 'Write the value here.')
  if (isScalar(node)) return node.value
  if (isSeq(node)) return node.items.map((item, index) => dataOf(item as Node, below(walk, index)))
  return isMap(node) ? recordOf(node.items, walk) : undefined
}

type Pairs = readonly { key: unknown; value: unknown }[]

function recordOf(pairs: Pairs, walk: Walk): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  for (const { key, value } of pairs) {
    const place = spanOf(key as Node, walk.start)
    const name = isScalar(key) ? String(key.value) : undefined
    if (name === undefined) refuse(walk, place, 'A key must be a text.', 'Write a name before the colon.')
    else if (name === '__proto__')
      refuse(walk, place, 'The key "__proto__" is not allowed anywhere in a document.', 'Remove the key.')
    else if (Object.hasOwn(record, name))
      walk.problems.push({
        rule: 'MX022',
        ...place,
        message: `The key ${JSON.stringify(name.slice(0, 80))} stands twice in one object.`,
      })
    else record[name] = value === null ? null : dataOf(value as Node, below(walk, name, place))
  }
  return record
}

function below(walk: Walk, step: string | number, key?: Span): Walk {
  return { ...walk, path: [...walk.path, step], ...(key && { key }) }
}

function refuse(walk: Walk, place: Span, message: string, fix: string): undefined {
  walk.problems.push(problem(place.offset, place.length, message, fix))
  return undefined
}

function problem(offset: number, length: number, message: string, fix: string): TextProblem {
  return { rule: 'MX001', offset, length, message, fix }
}

function spanOf(node: Node, start: number): Span {
  const [from = 0, to = from] = node.range ?? []
  return { offset: start + from, length: to - from }
}

/** At least as deep as the parser would go: out of stack, it takes the process with it instead of throwing. */
function nestingOf(text: string): number {
  const indents: number[] = []
  let brackets = 0
  let deepest = 0
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const marks = /^(?:[-?:] ?|[ \t])*/.exec(line)?.[0] ?? ''
    const indent = marks.length - marks.trimStart().length
    while ((indents.at(-1) ?? -1) >= indent) indents.pop()
    indents.push(indent)
    for (const character of line)
      if (character === '[' || character === '{') brackets += 1
      else if ((character === ']' || character === '}') && brackets > 0) brackets -= 1
      else continue
    deepest = Math.max(deepest, indents.length + marks.replaceAll(/[ \t]/g, '').length + brackets)
  }
  return deepest
}
