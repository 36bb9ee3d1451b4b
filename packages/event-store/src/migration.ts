import { type DurableEvent, MatrixError } from '@matrix/protocol'
import { emptyCarry } from './carry.ts'
import { corrupt } from './damage.ts'
import type { EventStore } from './event-store.ts'
import type { FileSystem, OpenFile } from './file-system.ts'
import { openSessionWriter, type WriterOptions } from './session-writer.ts'
import { readSpans } from './span.ts'
import { emptyTail } from './tail.ts'

type Place = { sessionId: string; directory: string; path: string }

/**
 * Rewrites a session of an earlier version in today's format. The original stays beside it as `<id>.jsonl.v<version>`; a
 * crash at any point leaves either the old file or the new one.
 */
export async function migrateSession(options: WriterOptions & Place, version: number): Promise<void> {
  const { fileSystem, directory, path } = options
  const target = `${path}.migrating`
  await fileSystem.remove(target)

  const source = await fileSystem.open(path, 'read')
  try {
    await copyFile(fileSystem, source, `${path}.v${version}`)
    await writeMigrated(options, target, readBareEvents(source, path))
  } finally {
    await source.close()
  }
  await fileSystem.rename(target, path)
  await fileSystem.syncDirectory(directory)
}

/** Brings every session to today's format, as opening one does, and answers those that could not be. */
export async function runEventMigrations(
  store: EventStore,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<{ sessionId: string; error: MatrixError }[]> {
  const failed: { sessionId: string; error: MatrixError }[] = []
  const sessionIds = await store.listSessions()
  for (const [index, sessionId] of sessionIds.entries()) {
    try {
      await store.lastSeq(sessionId)
    } catch (error) {
      if (!(error instanceof MatrixError)) throw error
      failed.push({ sessionId, error })
    }
    onProgress(index + 1, sessionIds.length)
  }
  return failed
}

/** A byte-for-byte copy that is on disk when this resolves. */
export async function copyFile(fileSystem: FileSystem, source: OpenFile, target: string): Promise<void> {
  await fileSystem.remove(target)
  const copy = await fileSystem.open(target, 'write')
  try {
    const size = await source.size()
    const bytes = Buffer.allocUnsafe(Math.min(size, 1024 * 1024))
    for (let at = 0; at < size; ) {
      const count = await source.read(bytes, at)
      if (count === 0) break
      at += await writeAll(copy, bytes.subarray(0, count), at)
    }
    await copy.sync()
  } finally {
    await copy.close()
  }
}

/** Writes every byte, in as many calls as the disk needs. */
export async function writeAll(file: OpenFile, bytes: Uint8Array, position: number): Promise<number> {
  for (let done = 0; done < bytes.byteLength; ) done += await file.write(bytes.subarray(done), position + done)
  return bytes.byteLength
}

async function writeMigrated(
  options: WriterOptions & Place,
  target: string,
  batches: AsyncGenerator<DurableEvent[]>,
): Promise<void> {
  const load = async () => ({ tail: emptyTail, carry: emptyCarry() })
  const writer = openSessionWriter(
    { ...options, path: target },
    { ...options, durability: 'durable', load, onWritten: () => undefined },
  )
  try {
    for await (const events of batches) for (const event of events) void writer.append([event]).catch(() => undefined)
    await writer.idle()
  } finally {
    await writer.close()
  }
}

/** Version 0: bare events. A last line without its newline was being written when the process died. */
async function* readBareEvents(source: OpenFile, path: string): AsyncGenerator<DurableEvent[]> {
  let line = 0
  for await (const { bytes, start, end } of readSpans(source, { from: 0, to: await source.size() })) {
    const texts = bytes.toString('utf8', start, end - 1).split('\n')
    const first = line
    line += texts.length
    yield texts.flatMap((text, index) =>
      fromBareEvent(parseBareEvent(text, path, first + index + 1), first + index + 1),
    )
  }
}

type BareEvent = { type: string; taskId: string; ts: string; [field: string]: unknown }

function parseBareEvent(text: string, path: string, line: number): BareEvent {
  try {
    return JSON.parse(text) as BareEvent
  } catch {
    throw corrupt({ kind: 'unreadable', file: path, line, message: 'the line is not JSON' })
  }
}

// In version 0 a message was its text, and was part of the conversation as soon as it was written.
function fromBareEvent(event: BareEvent, line: number): DurableEvent[] {
  const { type, taskId, ts } = event
  if (type === 'message' && typeof event.text === 'string') {
    const id = `v0-${line}`
    return [
      { type, taskId, ts, message: { source: 'user', id, text: event.text } },
      { type: 'messages_consumed', taskId, ts, messageIds: [id] },
    ]
  }
  if (type === 'tool_result' && typeof event.output === 'string') {
    const { output, ...rest } = event
    return [{ ...rest, content: [{ type: 'text', text: output }] } as unknown as DurableEvent]
  }
  return [event as unknown as DurableEvent]
}
