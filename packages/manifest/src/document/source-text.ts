import { type Node, parseTree } from 'jsonc-parser'

/** The way to a value: object keys and array indexes from the top of the document. */
export type Path = readonly (string | number)[]

/** Lines and columns count from 1, columns in UTF-16 units as editors do; the end is exclusive. */
export type Place = { line: number; column: number; endLine: number; endColumn: number }

/** A document's text with the places of its values. Nothing is computed until the first place is asked for. */
export type SourceText = {
  text: string
  /** Where a value stands, or its nearest ancestor when it is missing. */
  locate(path: Path, at?: 'key' | 'value'): Place
  /** Where a stretch of the text stands. */
  placeOf(offset: number, length: number): Place
}

/** A stretch of the text. */
export type Stretch = { offset: number; length: number }
export type Locate = (path: Path, at: 'key' | 'value') => Stretch | undefined

export function openSourceText(text: string, locate: Locate = locateInJson(text)): SourceText {
  let lineStarts: number[] | undefined

  const placeOf = (offset: number, length: number): Place => {
    lineStarts ??= findLineStarts(text)
    const [line, column] = position(lineStarts, offset)
    const [endLine, endColumn] = position(lineStarts, offset + length)
    return { line, column, endLine, endColumn }
  }

  return {
    text,
    placeOf,
    locate(path, at = 'value') {
      const { offset, length } = locate(path, at) ?? { offset: 0, length: 0 }
      return placeOf(offset, length)
    },
  }
}

function locateInJson(text: string): Locate {
  let tree: Node | undefined | null = null
  const properties: Properties = new Map()
  return (path, at) => {
    // The document as a whole: most files of no known format have a finding there, and need no tree for it.
    if (path.length === 0) return { offset: text.length - text.trimStart().length, length: text.trim() === '' ? 0 : 1 }
    if (tree === null) tree = parseTree(text, [], { allowTrailingComma: true })
    return tree && nearestNode(tree, path, at, properties)
  }
}

/** The values of each object that was asked for by key: read once, however many problems stand in it. */
type Properties = Map<Node, Map<string, Node>>

function nearestNode(tree: Node, path: Path, at: 'key' | 'value', properties: Properties): Node | undefined {
  let node = tree
  for (const step of path) {
    const child = childOf(node, step, properties)
    // A whole object is a poor place to point at: its opening brace, or the key it belongs to, says as much.
    if (!child) return headOf(node)
    node = child
  }
  if (at === 'key' && node.parent?.type === 'property') return node.parent.children?.[0]
  return headOf(node)
}

function childOf(node: Node, step: string | number, properties: Properties): Node | undefined {
  if (node.type === 'array') return typeof step === 'number' ? node.children?.[step] : undefined
  if (node.type !== 'object' || typeof step !== 'string') return undefined
  let values = properties.get(node)
  if (!values) {
    values = new Map()
    // The first of two equal keys, as a reader meets them.
    for (const { children: [key, value] = [] } of node.children ?? [])
      if (value && !values.has(key?.value)) values.set(key?.value, value)
    properties.set(node, values)
  }
  return values.get(step)
}

function headOf(node: Node): Node {
  if (!node.children) return node
  const key = node.parent?.type === 'property' ? node.parent.children?.[0] : undefined
  return key ?? { ...node, length: 1 }
}

function findLineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function position(lineStarts: number[], offset: number): [line: number, column: number] {
  let low = 0
  let high = lineStarts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((lineStarts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return [low + 1, offset - (lineStarts[low] ?? 0) + 1]
}
