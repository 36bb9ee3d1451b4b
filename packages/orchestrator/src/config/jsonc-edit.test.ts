import fc from 'fast-check'
import { findNodeAtLocation, parse, parseTree, visit } from 'jsonc-parser'
import { expect, test } from 'vitest'
import { removeFromJsonc, setInJsonc } from './jsonc-edit.ts'

test('a key is added below the last one, and the comments stay with what they are about', () => {
  const text = '{\n  // which\n  "model": "a" // for now\n}\n'

  expect(setInJsonc(text, ['port'], 1)).toBe('{\n  // which\n  "model": "a", // for now\n  "port": 1\n}\n')
})

test('a value is replaced where it stands', () => {
  expect(setInJsonc('{ "a": 1, /* x */ "b": 2 }', ['a'], { c: 3 })).toBe('{ "a": {\n  "c": 3\n}, /* x */ "b": 2 }')
})

test('what is missing on the way is made', () => {
  expect(setInJsonc('', ['a', 'b', 'c'], 1)).toBe('{\n  "a": {\n    "b": {\n      "c": 1\n    }\n  }\n}\n')
})

test('indentation and line ends are those of the file', () => {
  expect(setInJsonc('{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}', ['a', 'c'], [2])).toBe(
    '{\r\n\t"a": {\r\n\t\t"b": 1,\r\n\t\t"c": [\r\n\t\t\t2\r\n\t\t]\r\n\t}\r\n}',
  )
})

test('an object on one line stays on one line', () => {
  expect(setInJsonc('{"a": 1}', ['b'], 2)).toBe('{"a": 1, "b": 2}')
})

test('a trailing comma is used, not doubled', () => {
  expect(setInJsonc('{\n  "a": 1, // x\n}', ['b'], 2)).toBe('{\n  "a": 1, // x\n  "b": 2\n}')
})

test('what is not an object is not entered', () => {
  expect(setInJsonc('{ "a": 1 }', ['a', 'b'], 2)).toBeUndefined()
  expect(setInJsonc('[1]', ['a'], 2)).toBeUndefined()
})

test('a property is taken out with its line, and nothing else is', () => {
  const text = '{\n  // first\n  "a": 1, \n  // second\n  "b": 2\n}'

  expect(removeFromJsonc(text, ['a'])).toBe('{\n  // first\n  // second\n  "b": 2\n}')
  expect(removeFromJsonc(text, ['b'])).toBe('{\n  // first\n  "a": 1 \n  // second\n}')
})

test('an object that is empty without it goes too, unless a comment is in it', () => {
  expect(removeFromJsonc('{\n  "a": { "b": { "c": 1 } },\n  "d": 2\n}', ['a', 'b', 'c'])).toBe('{\n  "d": 2\n}')
  expect(removeFromJsonc('{ "a": { /* why */ "b": 1 } }', ['a', 'b'])).toBe('{ "a": { /* why */  } }')
  expect(removeFromJsonc('{ "a": /* why */ { "b": 1 } }', ['a', 'b'])).toBe('{ "a": /* why */ {  } }')
})

test('what is not there cannot be taken out', () => {
  expect(removeFromJsonc('{ "a": 1 }', ['b'])).toBe('{ "a": 1 }')
})

const key = fc.constantFrom('a', 'b', 'c', 'd')
const path = fc.array(key, { minLength: 1, maxLength: 3 })
const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant([1, 'x']))
const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof({ maxDepth: 2 }, leaf, tie('object')),
}))
/** Decides, choice after choice, what stands between two tokens. */
const style = fc.array(fc.nat(11), { minLength: 40, maxLength: 40 })

test('after a set, the document says what was set and else what it said before, and no comment is lost', () => {
  fc.assert(
    fc.property(object, style, path, leaf, (before, choices, at, value) => {
      const text = render(before, choices)
      const changed = setInJsonc(text, at, value)
      const expected = withValue(before, at, value)

      expect(changed === undefined).toBe(expected === undefined)
      if (changed === undefined) return
      expect(read(changed)).toEqual(expected)
      expect(comments(changed)).toEqual(comments(without(text, at, 'value')))
    }),
    { numRuns: 250 },
  )
})

test('after an unset, the value is gone and all else is as before, comments too', () => {
  fc.assert(
    fc.property(object, style, path, (before, choices, at) => {
      const text = render(before, choices)
      const changed = removeFromJsonc(text, at)

      expect(pruned(read(changed))).toEqual(pruned(withoutValue(before, at)))
      expect(comments(changed)).toEqual(comments(without(text, at, 'property')))
    }),
    { numRuns: 250 },
  )
})

test('a set that is taken back leaves the document as it was', () => {
  fc.assert(
    fc.property(object, style, leaf, (before, choices, value) => {
      const text = render(before, choices)
      const back = removeFromJsonc(setInJsonc(text, ['new', 'entry'], value) ?? '', ['new', 'entry'])

      expect(read(back)).toEqual(before)
      expect(comments(back)).toEqual(comments(text))
    }),
    { numRuns: 250 },
  )
})

function render(value: unknown, choices: number[]): string {
  let used = 0
  const choose = () => {
    used += 1
    return choices[used % choices.length] ?? 0
  }
  const gap = () => {
    const choice = choose()
    if (choice === 0) return ` // note ${used}\n`
    if (choice === 1) return `/* note ${used} */`
    return choice < 6 ? ' ' : choice < 10 ? '\n  ' : ''
  }
  const write = (part: unknown): string => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return JSON.stringify(part)
    const entries = Object.entries(part).map(([name, item]) => `${gap()}"${name}":${gap()}${write(item)}${gap()}`)
    const trailing = entries.length > 0 && choose() < 3 ? `,${gap()}` : ''
    return `{${entries.length > 0 ? entries.join(',') + trailing : gap()}}`
  }
  return `${gap()}${write(value)}${gap()}`
}

function read(text: string): unknown {
  const errors: never[] = []
  const value = parse(text, errors, { allowTrailingComma: true })
  expect(errors).toEqual([])
  return value
}

function comments(text: string): string[] {
  const found: string[] = []
  visit(text, { onComment: (offset, length) => void found.push(text.slice(offset, offset + length).trim()) })
  return found
}

/** The text with the value or the whole property cut out, to see which comments are outside of it. */
function without(text: string, at: string[], what: 'value' | 'property'): string {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const value = root && findNodeAtLocation(root, at)
  const node = what === 'value' ? value : value?.parent
  return node ? text.slice(0, node.offset) + text.slice(node.offset + node.length) : text
}

function withValue(value: unknown, [step, ...rest]: string[], set: unknown): unknown {
  if (step === undefined) return set
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const inner = withValue((value as Record<string, unknown>)[step] ?? {}, rest, set)
  return inner === undefined ? undefined : { ...value, [step]: inner }
}

function withoutValue(value: unknown, [step, ...rest]: string[]): unknown {
  if (step === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return value
  const { [step]: inner, ...others } = value as Record<string, unknown>
  return rest.length === 0 ? others : { ...others, [step]: withoutValue(inner, rest) }
}

/** Without empty objects, which an unset may or may not leave behind. */
function pruned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).map(([name, part]) => [name, pruned(part)] as const)
  return Object.fromEntries(kept.filter(([, part]) => JSON.stringify(part) !== '{}'))
}
