import { MatrixError } from '@matrix/protocol'
import type { Disk } from './disk.ts'

/** A repository may bring `.mxd` as a link to anywhere; nothing is read or written through one. */
export async function refuseLinks(disk: Disk, ...directories: string[]): Promise<void> {
  for (const directory of directories) {
    const kind = await disk.kind(directory)
    if (kind !== 'directory' && kind !== 'missing')
      throw new MatrixError('STORAGE_FAILED', `${directory} is not a directory`, {
        hint: 'Replace it with a real directory; links are not followed.',
      })
  }
}
