import type { FileHandle } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { findImage, type ImageInfo } from './image.ts'
import { openLineWindow } from './line-window.ts'
import { MAX_SHOWN_OF_FILE } from './shown.ts'
import { failed, openRegular, type Workspace } from './workspace.ts'

export type ReadRequest = { path: string; offset?: number | undefined; limit?: number | undefined }

export type ReadResult = { kind: 'text'; text: string } | { kind: 'image'; mimeType: string; data: string }

const MAX_LINES = 2000
const MAX_LINE_LENGTH = 2000
/** Lines are found by reading; a file of one endless line would be read for ever. */
const MAX_SCANNED = 64 << 20
const CHUNK = 256 << 10
const MAX_IMAGE_BYTES = 5 << 20
const MAX_IMAGE_SIDE = 8000

/** Some lines of a text file with their numbers, or a picture. */
export async function readFileLines(workspace: Workspace, request: ReadRequest): Promise<ReadResult> {
  const { file, size } = await openRegular(workspace, request.path)
  try {
    const head = await readAt(file, 0, Math.min(size, CHUNK))
    const image = findImage(head)
    if (image) return await readImage(file, size, image, request.path)
    if (head.subarray(0, 8192).includes(0))
      return { kind: 'text', text: `${request.path} is a binary file of ${size} bytes; it is not shown.` }
    return { kind: 'text', text: await readLines(file, size, request) }
  } finally {
    await file.close()
  }
}

async function readLines(file: FileHandle, size: number, request: ReadRequest): Promise<string> {
  const { path, offset = 1, limit = MAX_LINES } = request
  if (size === 0) return `${path} is empty.`
  const count = Math.min(limit, MAX_LINES)
  const lines = openLineWindow({ first: offset, count, maxLineLength: MAX_LINE_LENGTH, maxLength: MAX_SHOWN_OF_FILE })
  const decoder = new StringDecoder('utf8')
  // Up to the size it had when it was opened: a file that grows as fast as it is read has no other end.
  const end = Math.min(size, MAX_SCANNED)
  let at = 0
  while (at < end && !lines.isFull()) {
    const chunk = await readAt(file, at, Math.min(CHUNK, end - at))
    if (chunk.length === 0) break
    at += chunk.length
    lines.add(decoder.write(chunk))
  }
  if (!lines.isFull()) lines.finish()

  const text = lines.text() || `${path} has ${lines.seen()} lines; there is none from line ${offset} on.`
  return `${text}${note([
    ...(lines.hasRest() || (lines.isFull() && at < size) ? [`continue with offset ${lines.seen() + 1}`] : []),
    ...(!lines.isFull() && end < size ? [`only the first ${end} of ${size} bytes were looked at`] : []),
    ...(lines.hasCutLines() ? [`lines longer than ${MAX_LINE_LENGTH} characters are cut`] : []),
  ])}`
}

function note(notes: string[]): string {
  return notes.length > 0 ? `\n[${notes.join('; ')}]` : ''
}

async function readImage(file: FileHandle, size: number, image: ImageInfo, path: string): Promise<ReadResult> {
  const { mimeType, width = 0, height = 0 } = image
  // A few bytes can describe a picture that fills all memory once it is unpacked.
  if (size > MAX_IMAGE_BYTES || width > MAX_IMAGE_SIDE || height > MAX_IMAGE_SIDE)
    throw failed(`${path} is too large to be shown: ${mimeType}, ${width}x${height}, ${size} bytes.`, {
      hint: `Show one of at most ${MAX_IMAGE_SIDE} pixels a side and ${MAX_IMAGE_BYTES} bytes.`,
    })
  return { kind: 'image', mimeType, data: (await readAt(file, 0, size)).toString('base64') }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
