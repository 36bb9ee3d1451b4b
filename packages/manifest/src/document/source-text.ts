import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

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

export function openSourceText(text: string): SourceText {
  let lineStarts: number[] | undefined
  let tree: Node | undefined | null = null

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
      if (tree === null) tree = parseTree(text, [], { allowTrailingComma: true })
      const node = tree && nearestNode(tree, path, at)
      return node ? placeOf(node.offset, node.length) : placeOf(0, 0)
    },
  }
}

function nearestNode(tree: Node, path: Path, at: 'key' | 'value'): Node | undefined {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const node = findNodeAtLocation(tree, path.slice(0, depth) as (string | number)[])
    if (!node) continue
    const isWhole = depth === path.length
    if (isWhole && at === 'key' && node.parent?.type === 'property') return node.parent.children?.[0]
    // A whole object is a poor place to point at: its opening brace, or the key it belongs to, says as much.
    return isWhole && !node.children ? node : headOf(node)
  }
  return undefined
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
