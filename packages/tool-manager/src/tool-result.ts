import {
  type ErrorCode,
  Image,
  type MatrixError,
  removedNote,
  removeInvisible,
  type ToolContent,
} from '@matrix/protocol'
import { MAX_SHOWN } from './builtin/shown.ts'
import type { RawResult } from './connection.ts'
import type { Redactor } from './redactor.ts'

/** What a call came to, in a form that a model can be shown whatever happened. */
export type ToolResult = {
  content: ToolContent[]
  /** The machine-readable form of the same, where the tool has one. */
  structured?: unknown
  isError: boolean
  /** What Matrix adds to what the tool said; it is in the content too. */
  note?: string
  /** For what a server said: the hosts that its sandbox reached meanwhile. Absent where Matrix itself answers. */
  reached?: string[]
  /** Why Matrix, and not the tool, says no. */
  code?: ErrorCode
  /** The same for a person: what happened in full, which the model is not told. */
  error?: MatrixError
}

/** Keeps what is cut from a result, and says where. */
export type Spill = (text: string) => Promise<string>

/** No result is longer, whatever its tool says of it. */
const MAX_TEXT = 1 << 20
/** Of base64; what providers accept at most. */
const MAX_IMAGE = 5 << 20

export type ShapeOptions = {
  redactor: Redactor
  spill?: Spill | undefined
  /** Matrix's own tools cut what they answer themselves, each where it makes sense. */
  isBuiltin?: boolean | undefined
}

export async function shapeResult(raw: RawResult, { redactor, spill, isBuiltin }: ShapeOptions): Promise<ToolResult> {
  const { content, structuredContent, isError = false } = redactor.value(raw)
  const shown = content.map(shapePart)
  if (shown.length === 0 && structuredContent !== undefined) shown.push(text(JSON.stringify(structuredContent)))
  const isSmall = structuredContent !== undefined && JSON.stringify(structuredContent).length <= MAX_TEXT
  const { parts, removed } = removeUnseen(shown)
  const limited = await limitText(parts, isBuiltin ? MAX_TEXT : MAX_SHOWN, spill)
  return {
    content: removed > 0 ? [...limited, text(removedNote(removed))] : limited,
    ...(isSmall && { structured: structuredContent }),
    isError,
  }
}

/** What a reader of the result would not see does not reach the model either. */
function removeUnseen(content: readonly ToolContent[]): { parts: ToolContent[]; removed: number } {
  let removed = 0
  const parts = content.map((part) => {
    if (part.type !== 'text') return part
    const seen = removeInvisible(part.text)
    removed += seen.removed
    return text(seen.text)
  })
  return { parts, removed }
}

/** An error as the model reads it: one JSON object, as programs and models both can take apart. */
export function errorResult({ code, message, hint }: MatrixError): ToolResult {
  const text = JSON.stringify({ error: { code, message, hint } })
  return { content: [{ type: 'text', text }], isError: true, code }
}

type Part = RawResult['content'][number]

function shapePart(part: Part): ToolContent {
  if (part.type === 'text') return text(String(part.text ?? ''))
  if (part.type === 'image') return shapeImage(part)
  if (part.type === 'audio') return text(`[audio of type ${part.mimeType}, which is not shown]`)
  if (part.type === 'resource_link') return text(`[resource ${part.name ?? ''} at ${part.uri}]`)
  if (part.type === 'resource') return shapeResource(part.resource as Record<string, unknown> | undefined)
  return text(`[${part.type}, which is not shown]`)
}

function shapeImage({ mimeType, data }: Part): ToolContent {
  const size = typeof data === 'string' ? data.length : 0
  if (size > MAX_IMAGE) return text(`[image of ${size} characters, too large to be shown]`)
  const image = Image.safeParse({ mediaType: mimeType, data })
  return image.success ? { type: 'image', ...image.data } : text(`[image of type ${mimeType}, which is not shown]`)
}

function shapeResource(resource: Record<string, unknown> = {}): ToolContent {
  const { uri, mimeType, text: words, blob } = resource
  if (typeof words === 'string') return text(words)
  if (typeof blob === 'string' && String(mimeType).startsWith('image/'))
    return shapeImage({ type: 'image', mimeType, data: blob })
  return text(`[resource ${uri} of type ${mimeType}, which is not shown]`)
}

function text(words: string): ToolContent {
  return { type: 'text', text: words }
}

/** Of what is too long the beginning and the end, and where all of it is. Pictures have a limit of their own. */
async function limitText(content: ToolContent[], limit: number, spill: Spill | undefined): Promise<ToolContent[]> {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const whole = texts.join('\n')
  if (whole.length <= limit) return content
  const headLength = Math.floor((limit * 2) / 3)
  const [head, tail] = [whole.slice(0, headLength), whole.slice(headLength - limit)]
  const file = await spill?.(whole)
  const where = file ? `all ${whole.length} are in ${file}` : 'ask for less at once'
  const note = `[… ${whole.length - limit} characters left out; ${where} …]`
  return [text(`${head}\n${note}\n${tail}`), ...content.filter((part) => part.type !== 'text')]
}
