import { findHiddenCharacters, MatrixError } from '@matrix/protocol'
import * as z from 'zod'
import { MAX_DEPTH } from '../document/document.ts'
import { canonicalForm, digestBytes } from '../manifest/digest.ts'

const jsonSchema = z.record(z.string(), z.unknown())

/** All that a server says about one of its tools and that can change what a model or a program does with it; icons and `_meta` cannot. */
export const ToolSurface = z.object({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: jsonSchema,
  outputSchema: z.union([z.boolean(), jsonSchema]).optional(),
  annotations: z.record(z.string(), z.unknown()).optional(),
})
export type ToolSurface = z.infer<typeof ToolSurface>

/** The content address of one tool's definition. */
export function toolSurfaceDigest(tool: ToolSurface): string {
  return digestBytes(canonicalSurface(tool))
}

/** The content address of everything a server advertises, in whatever order it does. */
export function serverSurfaceDigest(tools: readonly ToolSurface[]): string {
  const sorted = [...tools].sort(byName)
  const twice = sorted.find((tool, index) => tool.name === sorted[index + 1]?.name)
  if (twice)
    throw new MatrixError('TOOL_DRIFT', `The tool ${JSON.stringify(twice.name)} is advertised twice.`, {
      hint: 'Only the author of the server can repair this: a list with two tools of one name cannot be pinned.',
    })
  // The canonical form of a list is its members' in brackets, so none of them is worked out a second time.
  return digestBytes(`[${sorted.map(canonicalSurface).join(',')}]`)
}

function canonicalSurface(tool: ToolSurface): string {
  return canonicalForm(surfaceOf(tool))
}

function surfaceOf({ name, title, description, inputSchema, outputSchema, annotations }: ToolSurface): ToolSurface {
  return { name, title, description, inputSchema, outputSchema, annotations }
}

/** A text of a definition with characters that nobody sees; `place` is the way to it, such as `inputSchema.properties.path.description`. */
export type HiddenText = { place: string; characters: string[] }

export function findHiddenText(tool: ToolSurface): HiddenText[] {
  const found: HiddenText[] = []
  walkTexts(surfaceOf(tool), [], (text, path, isName) => {
    // Nearly every text is plain ASCII, and the full question is a slow one.
    if (!/[^ -~\n\t]/.test(text)) return
    const characters = findHiddenCharacters(text.replaceAll('\r\n', '\n'))
    if (characters.length > 0) found.push({ place: placeOf(path, isName), characters })
  })
  return found
}

/** Every text of a definition, names of parameters included, and the way to each. */
export function findTexts(tool: ToolSurface): { place: string; text: string }[] {
  const found: { place: string; text: string }[] = []
  walkTexts(surfaceOf(tool), [], (text, path, isName) => found.push({ place: placeOf(path, isName), text }))
  return found
}

function placeOf(path: readonly string[], isName: boolean): string {
  return `${isName ? 'the name of ' : ''}${path.join('.')}`
}

function walkTexts(
  value: unknown,
  path: string[],
  visit: (text: string, path: string[], isName: boolean) => void,
): void {
  if (typeof value === 'string') visit(value, path, false)
  if (typeof value !== 'object' || value === null) return
  if (path.length >= MAX_DEPTH)
    throw new MatrixError('VALUE_NOT_CANONICAL', `The definition is nested more than ${MAX_DEPTH} levels deep.`)
  for (const key of Object.keys(value)) {
    path.push(key)
    if (!Array.isArray(value)) visit(key, path, true)
    walkTexts((value as Record<string, unknown>)[key], path, visit)
    path.pop()
  }
}

function byName(a: ToolSurface, b: ToolSurface): number {
  return a.name < b.name ? -1 : 1
}
