import { type ErrorCode, Image, type MatrixError, type ToolContent } from '@matrix/protocol'
import type { RawResult } from './connection.ts'
import type { Redactor } from './redactor.ts'

/** What a call came to, in a form that a model can be shown whatever happened. */
export type ToolResult = {
  content: ToolContent[]
  /** The machine-readable form of the same, where the tool has one. */
  structured?: unknown
  isError: boolean
  /** Why Matrix, and not the tool, says no. */
  code?: ErrorCode
  /** The same for a person: what happened in full, which the model is not told. */
  error?: MatrixError
}

/** Keeps what is cut from a result, and says where. */
export type Spill = (text: string) => Promise<string>

const MAX_TEXT = 1 << 20
/** Of base64; what providers accept at most. */
const MAX_IMAGE = 5 << 20

export async function shapeResult(raw: RawResult, redactor: Redactor, spill?: Spill): Promise<ToolResult> {
  const { content, structuredContent, isError = false } = redactor.value(raw)
  const shown = content.map(shapePart)
  if (shown.length === 0 && structuredContent !== undefined)
    shown.push({ type: 'text', text: JSON.stringify(structuredContent) })
  const isSmall = structuredContent !== undefined && JSON.stringify(structuredContent).length <= MAX_TEXT
  return {
    content: await limitText(shown, spill),
    ...(isSmall && { structured: structuredContent }),
    isError,
  }
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

async function limitText(content: ToolContent[], spill: Spill | undefined): Promise<ToolContent[]> {
  const length = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length <= MAX_TEXT) return content
  const whole = content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n')
  const file = await spill?.(whole)
  let left = MAX_TEXT
  const kept = content.map((part) => {
    if (part.type !== 'text') return part
    const cut = part.text.slice(0, left)
    left -= cut.length
    return text(cut)
  })
  const where = file ? ` All of it is in ${file}.` : ''
  return [...kept, text(`[cut after ${MAX_TEXT} of ${length} characters.${where}]`)]
}
