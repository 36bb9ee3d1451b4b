import { inflateRawSync } from 'node:zlib'
import { MatrixError } from '@matrix/protocol'

export type ZipEntry = { path: string; isExecutable: boolean; bytes: Buffer }

const END = 0x06054b50
const CENTRAL = 0x02014b50
const LOCAL = 0x04034b50
const MAX_ENTRIES = 20_000
const MAX_TOTAL_BYTES = 512 << 20
const SYMLINK = 0o120000
const KIND = 0o170000

/** The files of a zip archive. Links, paths that lead out of it, and what unpacks to more than it should are refused. */
export function readZip(archive: Buffer): ZipEntry[] {
  const end = findEnd(archive)
  const count = archive.readUInt16LE(end + 10)
  if (count > MAX_ENTRIES) throw broken(`it has ${count} entries`)
  const entries: ZipEntry[] = []
  let left = MAX_TOTAL_BYTES
  let offset = archive.readUInt32LE(end + 16)
  try {
    for (let index = 0; index < count; index += 1) {
      if (archive.readUInt32LE(offset) !== CENTRAL) throw broken('its directory cannot be read')
      const { entry, next } = readEntry(archive, offset, left)
      left -= entry?.bytes.length ?? 0
      if (entry) entries.push(entry)
      offset = next
    }
  } catch (error) {
    throw error instanceof MatrixError ? error : broken((error as Error).message)
  }
  const paths = new Set(entries.map(({ path }) => path.toLowerCase()))
  if (paths.size !== entries.length) throw broken('it has two files of one name')
  return entries
}

function findEnd(archive: Buffer): number {
  const earliest = Math.max(0, archive.length - 22 - 0xffff)
  for (let offset = archive.length - 22; offset >= earliest; offset -= 1)
    if (archive.readUInt32LE(offset) === END) return offset
  throw broken('it is no zip archive')
}

function readEntry(archive: Buffer, offset: number, limit: number): { entry: ZipEntry | undefined; next: number } {
  const nameLength = archive.readUInt16LE(offset + 28)
  const path = archive.toString('utf8', offset + 46, offset + 46 + nameLength)
  const next = offset + 46 + nameLength + archive.readUInt16LE(offset + 30) + archive.readUInt16LE(offset + 32)
  const mode = archive.readUInt32LE(offset + 38) >>> 16
  if (!isInside(path)) throw broken(`${JSON.stringify(path)} leads out of it`)
  if ((mode & KIND) === SYMLINK) throw broken(`${JSON.stringify(path)} is a link`)
  if (path.endsWith('/')) return { entry: undefined, next }
  const bytes = unpack(archive, offset, Math.min(limit, archive.readUInt32LE(offset + 24)))
  return { entry: { path, isExecutable: (mode & 0o111) !== 0, bytes }, next }
}

function isInside(path: string): boolean {
  const isPlain = path !== '' && !path.startsWith('/') && !/[\\\0:]/.test(path)
  return isPlain && !path.split('/').some((part) => part === '..' || part === '.')
}

function unpack(archive: Buffer, offset: number, limit: number): Buffer {
  const [method, size, local] = [offset + 10, offset + 20, offset + 42].map((at, index) =>
    index === 0 ? archive.readUInt16LE(at) : archive.readUInt32LE(at),
  ) as [number, number, number]
  if (archive.readUInt32LE(local) !== LOCAL) throw broken('one of its files cannot be found')
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  const packed = archive.subarray(start, start + size)
  if (method === 0 && packed.length <= limit) return packed
  if (method === 8) return inflateRawSync(packed, { maxOutputLength: Math.max(1, limit) })
  throw broken('it is packed in a way that is not known here, or is too large')
}

function broken(reason: string): MatrixError {
  return new MatrixError('PACKAGE_UNVERIFIABLE', `The bundle cannot be unpacked: ${reason}.`, {
    hint: 'Get the bundle from its author again.',
  })
}
