import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestValue } from '../manifest/digest.ts'
import { findHiddenText, serverSurfaceDigest, ToolSurface, toolSurfaceDigest } from './surface.ts'

const surfaces = new URL('../../fixtures/surfaces/', import.meta.url)
const echo = { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' } } satisfies ToolSurface

test('every tool of the recorded servers has a surface, and it keeps all but icons, _meta and execution', () => {
  const kept = new Set(['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'])
  const files = readdirSync(surfaces)
  expect(files.length).toBeGreaterThan(5)
  for (const file of files)
    for (const raw of recorded(file)) {
      const expected = Object.fromEntries(Object.entries(raw).filter(([key]) => kept.has(key)))
      expect(ToolSurface.parse(raw)).toEqual(expected)
    }
})

test('the digest of a tool is that of its canonical form, whatever else came with it', () => {
  const { name, description, inputSchema } = echo
  expect(toolSurfaceDigest(echo)).toBe(digestValue({ inputSchema, name, description }))
  const decorated = { ...echo, icons: [{ src: 'data:,' }], _meta: { seen: 1 } }
  expect(toolSurfaceDigest(decorated)).toBe(toolSurfaceDigest(echo))
  expect(toolSurfaceDigest({ ...echo, title: undefined })).toBe(toolSurfaceDigest(echo))
})

test('each part of the surface counts', () => {
  const changed: ToolSurface[] = [
    { ...echo, name: 'Echo' },
    { ...echo, title: 'Echo' },
    { ...echo, description: 'Says it again!' },
    { ...echo, inputSchema: { type: 'object', additionalProperties: false } },
    { ...echo, outputSchema: true },
    { ...echo, annotations: {} },
    { ...echo, annotations: { readOnlyHint: true } },
  ]
  expect(new Set([echo, ...changed].map(toolSurfaceDigest)).size).toBe(changed.length + 1)
})

test('the digest of a server is that of its tools sorted by name, in whatever order it lists them', () => {
  const tools = recorded('modelcontextprotocol-server-filesystem-2026.8.31.json').map((tool) => ToolSurface.parse(tool))
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  const digest = digestValue(sorted)

  fc.assert(
    fc.property(fc.shuffledSubarray(tools, { minLength: tools.length }), (shuffled) => {
      expect(serverSurfaceDigest(shuffled)).toBe(digest)
    }),
  )
  expect(serverSurfaceDigest(tools.slice(1))).not.toBe(digest)
})

test('a server without tools has a digest too', () => {
  expect(serverSurfaceDigest([])).toBe(digestValue([]))
})

test('a list with two tools of one name is refused', () => {
  expect(() => serverSurfaceDigest([echo, { ...echo, name: 'other' }, echo])).toThrowError(
    expect.objectContaining({ code: 'TOOL_DRIFT', message: expect.stringContaining('"echo"') }),
  )
})

test('no recorded server hides a character', () => {
  for (const file of readdirSync(surfaces))
    for (const tool of recorded(file)) expect(findHiddenText(ToolSurface.parse(tool))).toEqual([])
})

test('hidden characters are found in every text of a definition, names of parameters included', () => {
  const tool: ToolSurface = {
    name: 'e\u200Bcho',
    title: 'Echo\u202E',
    description: 'Plain.\r\nStill plain: é, 日本語.\u{E0041}\u{E0042}',
    inputSchema: { properties: { 'pa\u2066th': { enum: ['a', 'b\u0007'] } } },
    outputSchema: { description: '\u001b[31m' },
    annotations: { title: '\u00AD' },
  }
  expect(findHiddenText(tool)).toEqual([
    { place: 'name', characters: ['U+200B'] },
    { place: 'title', characters: ['U+202E'] },
    { place: 'description', characters: ['U+E0041', 'U+E0042'] },
    { place: 'the name of inputSchema.properties.pa\u2066th', characters: ['U+2066'] },
    { place: 'inputSchema.properties.pa\u2066th.enum.1', characters: ['U+0007'] },
    { place: 'outputSchema.description', characters: ['U+001B'] },
    { place: 'annotations.title', characters: ['U+00AD'] },
  ])
})

test('a schema nested beyond measure is refused instead of being followed', () => {
  let schema: Record<string, unknown> = {}
  for (let level = 0; level < 20_000; level += 1) schema = { items: schema }
  const tool = { ...echo, inputSchema: schema }

  expect(() => findHiddenText(tool)).toThrowError(expect.objectContaining({ code: 'VALUE_NOT_CANONICAL' }))
  expect(() => toolSurfaceDigest(tool)).toThrowError(expect.objectContaining({ code: 'VALUE_NOT_CANONICAL' }))
})

function recorded(file: string): Record<string, unknown>[] {
  return JSON.parse(readFileSync(new URL(file, surfaces), 'utf8')).tools
}
