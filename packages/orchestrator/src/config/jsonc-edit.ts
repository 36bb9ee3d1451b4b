import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

/**
 * Edits that touch the value they are about and leave every comment where it is. The editing of jsonc-parser itself takes
 * the comments between two properties away with either of them.
 */

/** The text with the value at this path; what is missing on the way is made. Undefined when something other than an object is in the way. */
export function setInJsonc(text: string, path: readonly string[], value: unknown): string | undefined {
  const source = text.trim() === '' ? '{}\n' : text
  const root = parseTree(source, [], { allowTrailingComma: true })
  if (!root) return undefined

  let depth = 0
  let node = root
  for (const step of path) {
    const child = node.type === 'object' ? findNodeAtLocation(node, [step]) : undefined
    if (!child) break
    node = child
    depth += 1
  }
  const missing = path.slice(depth)
  if (missing.length === 0) return splice(source, node.offset, node.length, format(source, value, node))
  if (node.type !== 'object') return undefined
  const [key = '', ...deeper] = missing
  const whole = deeper.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value)
  return insert(source, node, key, whole)
}

/** The text without the value at this path, nor the objects that are empty without it. */
export function removeFromJsonc(text: string, path: readonly string[]): string {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const property = root && findNodeAtLocation(root, [...path])?.parent
  if (property?.type !== 'property') return text
  const removed = removeProperty(text, property)
  const above = path.slice(0, -1)
  return above.length > 0 && isEmptyProperty(removed, above) ? removeFromJsonc(removed, above) : removed
}

/** Nothing is left of the property but its name and its braces, not even a comment. */
function isEmptyProperty(text: string, path: readonly string[]): boolean {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const property = root && findNodeAtLocation(root, [...path])?.parent
  const [key] = property?.children ?? []
  if (!property || !key) return false
  const rest = text.slice(key.offset + key.length, property.offset + property.length)
  return /^\s*:\s*\{\s*\}$/.test(rest)
}

function insert(text: string, object: Node, key: string, value: unknown): string {
  const end = object.offset + object.length - 1
  const last = object.children?.at(-1)
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = indentUnit(text)
  const isOneLine = !text.slice(object.offset, end).includes('\n')
  if (last && isOneLine) {
    const [at, comma] = afterProperty(text, last, end)
    return splice(text, at, 0, `${comma} ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  }

  const outer = indentOf(text, object.offset)
  const inner = last ? indentOf(text, last.offset) : outer + unit
  const property = `${inner}${JSON.stringify(key)}: ${indented(value, unit, inner, lineBreak)}`
  if (!last && isOneLine) return splice(text, end, 0, `${lineBreak}${property}${lineBreak}${outer}`)

  // Below the last line that says anything, so that a comment beside or below the last property stays with it.
  const body = text.slice(0, end).trimEnd()
  const withProperty = splice(text, body.length, 0, `${lineBreak}${property}`)
  if (!last) return withProperty
  const [at, comma] = afterProperty(text, last, end)
  return comma === '' ? withProperty : splice(withProperty, at, 0, comma)
}

/** Where a property ends with its comma, and the comma it needs before another can follow. */
function afterProperty(text: string, property: Node, end: number): [at: number, comma: string] {
  const propertyEnd = property.offset + property.length
  const comma = findComma(text, propertyEnd, end)
  return comma === undefined ? [propertyEnd, ','] : [comma + 1, '']
}

function removeProperty(text: string, property: Node): string {
  const object = property.parent
  const siblings = object?.children ?? []
  const index = siblings.indexOf(property)
  const start = property.offset
  const end = start + property.length
  const next = siblings[index + 1]
  const previous = siblings[index - 1]
  const limit = next?.offset ?? (object ? object.offset + object.length - 1 : text.length)
  const commaAfter = findComma(text, end, limit)
  if (commaAfter !== undefined)
    return splice(splice(text, commaAfter, 1, ''), ...withItsLine(text, start, end, commaAfter))
  const without = splice(text, ...withItsLine(text, start, end))
  const commaBefore = previous && findComma(text, previous.offset + previous.length, start)
  return commaBefore === undefined ? without : splice(without, commaBefore, 1, '')
}

/** The stretch from here to there, and the whole of its lines when nothing else stands on them. The comma may be gone by then. */
function withItsLine(text: string, start: number, end: number, comma?: number): [number, number, string] {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const lineEnd = text.indexOf('\n', end)
  const rest = text.slice(end, lineEnd === -1 ? text.length : lineEnd)
  const isCommaHere = comma !== undefined && comma < end + rest.length
  const isAlone =
    text.slice(lineStart, start).trim() === '' && (isCommaHere ? rest.replace(',', '') : rest).trim() === ''
  if (!isAlone || lineEnd === -1) return [start, end - start, '']
  return [lineStart, lineEnd + 1 - lineStart - (isCommaHere ? 1 : 0), '']
}

/** The comma that comes next, whatever comments stand before it. */
function findComma(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(from)
  scanner.scan()
  const at = scanner.getTokenOffset()
  return text[at] === ',' && at < to ? at : undefined
}

function format(text: string, value: unknown, node: Node): string {
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n'
  return indented(value, indentUnit(text), indentOf(text, node.offset), lineBreak)
}

function indented(value: unknown, unit: string, indent: string, lineBreak: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${lineBreak}${indent}`)
}

function indentUnit(text: string): string {
  return /\{\s*?\n([ \t]+)"/.exec(text)?.[1] ?? '  '
}

/** The blanks that the line of this place starts with. */
function indentOf(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

function splice(text: string, at: number, length: number, insertion: string): string {
  return text.slice(0, at) + insertion + text.slice(at + length)
}
