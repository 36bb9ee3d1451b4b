import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import * as z from 'zod'
import { type TreeEntry, treeDigest } from './file-tree.ts'
import { digestLoaded } from './loaded-files.ts'
import { readZip } from './zip-archive.ts'

const BundleManifest = z.looseObject({
  version: z.string(),
  server: z.looseObject({
    type: z.string(),
    entry_point: z.string(),
    mcp_config: z.looseObject({ command: z.string(), args: z.array(z.string()).default([]) }).optional(),
  }),
})

export type StoredBundle = { folder: string; manifest: z.infer<typeof BundleManifest>; files_digest: string }

export type BundleBytes = {
  /** The folder of the store. */
  root: string
  digest: string
  bytes: Buffer
  /** What a lock says of the unpacked files; they are held against the archive itself where there is none. */
  pinned?: string | undefined
  isFull?: boolean | undefined
}

/** Unpacks a bundle whose digest was verified into the store, once, and holds what lies there against it each time. */
export async function storeBundle({ root, digest, bytes, pinned, isFull }: BundleBytes): Promise<StoredBundle> {
  const folder = join(root, 'sha256', digest.slice('sha256:'.length))
  const isStored = await stat(join(folder, 'manifest.json')).catch(() => undefined)
  if (!isStored) await unpack(join(root, 'tmp', randomUUID()), folder, bytes)
  const files_digest = await digestLoaded({
    folder,
    listings: join(root, 'listings'),
    pinned: pinned ?? archiveDigest(bytes),
    isFull,
    hint: `Remove ${folder}; it is unpacked again when it is needed.`,
  })
  const manifest = BundleManifest.safeParse(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')))
  if (manifest.success) return { folder, manifest: manifest.data, files_digest }
  throw new MatrixError('PACKAGE_UNVERIFIABLE', 'The manifest of the bundle does not say how to start it.')
}

/** What a folder has once the archive is unpacked there. */
function archiveDigest(bytes: Buffer): string {
  const entries = readZip(bytes).map(({ path, bytes: content }): [string, TreeEntry] => {
    const digest = createHash('sha256').update(content).digest('hex')
    return [normalize(path), { kind: 'file', digest, stamp: '' }]
  })
  return treeDigest(new Map(entries))
}

async function unpack(temporary: string, folder: string, bytes: Buffer): Promise<void> {
  await mkdir(temporary, { recursive: true, mode: 0o755 })
  try {
    for (const { path, isExecutable, bytes: content } of readZip(bytes)) {
      const file = join(temporary, path)
      await mkdir(dirname(file), { recursive: true, mode: 0o755 })
      await writeFile(file, content, { mode: isExecutable ? 0o755 : 0o644 })
    }
    await mkdir(dirname(folder), { recursive: true })
    await rename(temporary, folder).catch(async (error: NodeJS.ErrnoException) => {
      // Somebody else was quicker with the same bytes.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}
