import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { type DurableEvent, MatrixError } from '@matrix/protocol'
import type { ChainChecker } from './chain.ts'
import { corrupt } from './damage.ts'
import { type FileSystem, hasErrorCode, type OpenFile } from './file-system.ts'
import { readHeader } from './header.ts'
import type { Header } from './line.ts'
import { writeAll } from './migration.ts'
import { type LineBatch, type ParseSpan, parseLines, readVerified } from './session-reader.ts'
import { storageError } from './session-writer.ts'

/** Copies the first `size` bytes of a session's file, and reads them back before it says that they are there. */
export async function copySession(
  fileSystem: FileSystem,
  { source, size }: { source: string; size: number },
  { target, compress }: { target: string; compress: boolean },
): Promise<void> {
  const wanted = await withOpen(fileSystem, source, (file) => digestOf(readChunks(file, size)))
  const pack = (file: OpenFile) => (compress ? gzip(readChunks(file, size)) : readChunks(file, size))
  await writeFile(fileSystem, target, withOpenStream(fileSystem, source, pack))
  const got = await digestOf(unpacked(fileSystem, target)).catch(() => 'unreadable')
  if (got === wanted) return
  await fileSystem.remove(target)
  throw new MatrixError('STORAGE_FAILED', `${target} could not be read back as it was written.`)
}

/** Whose session a file holds, compressed or not. */
export async function readSessionId(fileSystem: FileSystem, path: string): Promise<string> {
  for await (const { lines } of readArchivedLines(fileSystem, path)) {
    const header = lines[0] as Partial<Header> | undefined
    if (header?.format === 'matrix-session' && header.sessionId) return header.sessionId
    break
  }
  throw corrupt({ kind: 'foreign', file: path, line: 1, message: 'the file is not a Matrix session' })
}

/** Puts a session from a file, compressed or not, in place. A session that is damaged or already there is refused. */
export async function placeSession(
  fileSystem: FileSystem,
  source: string,
  directory: string,
  checker: ChainChecker,
): Promise<string> {
  const arriving = join(directory, `${basename(source)}.arriving`)
  await writeFile(fileSystem, arriving, unpacked(fileSystem, source))
  try {
    const header = await withOpen(fileSystem, arriving, (file) => checkWhole(file, source, checker))
    const target = join(directory, `${header.sessionId}.jsonl`)
    if (await fileSystem.stat(target))
      throw new MatrixError('SESSION_EXISTS', `Session ${header.sessionId} is already there.`)
    await fileSystem.rename(arriving, target)
    await fileSystem.syncDirectory(directory)
    return header.sessionId
  } catch (error) {
    await fileSystem.remove(arriving)
    throw error
  }
}

export async function listArchives(fileSystem: FileSystem, directory: string): Promise<string[]> {
  const names = await fileSystem.list(directory).catch((error) => {
    if (hasErrorCode(error, 'ENOENT')) return []
    throw storageError(`Cannot list ${directory}`, error)
  })
  return names.filter((name) => name.endsWith('.jsonl.gz')).sort()
}

/** Some events of an archive by their seq. */
export async function readArchivedEvents(
  fileSystem: FileSystem,
  path: string,
  seqs: Set<number>,
): Promise<Map<number, DurableEvent>> {
  const events = new Map<number, DurableEvent>()
  for await (const { lines } of readArchivedLines(fileSystem, path)) {
    for (const { seq, event } of lines) if (seqs.has(seq)) events.set(seq, event)
    if (events.size === seqs.size) break
  }
  return events
}

/** All lines of an archive, as `readLines` gives those of a session. They were checked when they were put away. */
export function readArchivedLines(fileSystem: FileSystem, path: string): AsyncGenerator<LineBatch> {
  return readArchivedAs(fileSystem, path, parseLines)
}

export async function* readArchivedAs<Batch>(
  fileSystem: FileSystem,
  path: string,
  parse: ParseSpan<Batch>,
): AsyncGenerator<Batch> {
  let rest = Buffer.alloc(0)
  let offset = 0
  for await (const chunk of unpacked(fileSystem, path)) {
    const bytes = Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(10) + 1
    if (end > 0) yield parse({ bytes, start: 0, end, offset })
    rest = bytes.subarray(end)
    offset += end
  }
}

async function checkWhole(file: OpenFile, path: string, checker: ChainChecker): Promise<Header> {
  const header = await readHeader(file)
  if (header?.format !== 'matrix-session')
    throw corrupt({ kind: 'foreign', file: path, line: 1, message: 'the file is not a Matrix session' })
  const to = await file.size()
  let end = 0
  for await (const batch of readVerified(file, path, { checker, parse: parseLines }, { seq: 0, offset: 0, to }))
    end = batch.end
  if (end < to)
    throw corrupt({ kind: 'shortened', file: path, line: 1, message: 'the file ends in the middle of a line' })
  return header
}

/** The bytes of a session's file, whichever way they were put away. */
async function* unpacked(fileSystem: FileSystem, path: string): AsyncGenerator<Buffer> {
  try {
    yield* withOpenStream(fileSystem, path, unpack)
  } catch (error) {
    throw hasErrorCode(error, 'Z_DATA_ERROR', 'Z_BUF_ERROR')
      ? unreadable(path)
      : storageError(`Cannot read ${path}`, error)
  }
}

async function* unpack(file: OpenFile): AsyncGenerator<Buffer> {
  const magic = Buffer.alloc(2)
  await file.read(magic, 0)
  yield* magic.equals(Buffer.from([0x1f, 0x8b])) ? gunzip(readChunks(file)) : readChunks(file)
}

async function* readChunks(file: OpenFile, size = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const bytes = Buffer.allocUnsafe(Math.min(1024 * 1024, size - at))
    const count = await file.read(bytes, at)
    if (count === 0) return
    at += count
    yield bytes.subarray(0, count)
  }
}

const gzip = (chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> => Readable.from(chunks).pipe(createGzip())

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = Readable.from(chunks)
  const target = createGunzip()
  source.on('error', (error) => target.destroy(error))
  yield* source.pipe(target)
}

async function digestOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of chunks) digest.update(chunk)
  return digest.digest('hex')
}

/** Writes beside the target first, so that a file with that name is always a whole one. */
async function writeFile(fileSystem: FileSystem, target: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const part = `${target}.part`
  try {
    await fileSystem.remove(part)
    const file = await fileSystem.open(part, 'write')
    try {
      let at = 0
      for await (const chunk of chunks) at += await writeAll(file, chunk, at)
      await file.sync()
    } finally {
      await file.close()
    }
    await fileSystem.rename(part, target)
    await fileSystem.syncDirectory(dirname(target))
  } catch (error) {
    await fileSystem.remove(part).catch(() => undefined)
    throw storageError(`Cannot write ${target}`, error)
  }
}

function unreadable(path: string): MatrixError {
  return corrupt({ kind: 'unreadable', file: path, line: 1, message: 'the compressed data is damaged' })
}

async function withOpen<Result>(
  fileSystem: FileSystem,
  path: string,
  work: (file: OpenFile) => Promise<Result>,
): Promise<Result> {
  const file = await fileSystem.open(path, 'read').catch((error) => {
    throw storageError(`Cannot open ${path}`, error)
  })
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

async function* withOpenStream(
  fileSystem: FileSystem,
  path: string,
  read: (file: OpenFile) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const file = await fileSystem.open(path, 'read')
  try {
    yield* read(file)
  } finally {
    await file.close()
  }
}
