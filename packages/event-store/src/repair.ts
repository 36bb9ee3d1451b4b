import { type Damage, findDamage } from './damage.ts'
import type { FileSystem } from './file-system.ts'
import { copyFile } from './migration.ts'
import type { SessionFile } from './session-file.ts'

export type Repair = {
  damage: Damage[]
  /** Where the file is kept as it was found. */
  kept: string
  /** `restored` when flipped bits were put right and nothing is lost; `cut` when the session now ends before the damage. */
  outcome: 'restored' | 'cut'
  lastSeq: number
}

/** Makes a damaged session usable again: a flipped bit is put right, and any other damage ends the session before it. */
export async function repairSession(
  fileSystem: FileSystem,
  kept: string,
  reopen: () => SessionFile,
): Promise<Repair | undefined> {
  const damage: Damage[] = []
  for (let found = await findEnd(reopen()); found.damage; found = await findEnd(reopen())) {
    await mend(fileSystem, { damage: found.damage, end: found.end }, damage.length === 0 ? kept : undefined)
    damage.push(found.damage)
  }
  if (damage.length === 0) return undefined
  const { seq } = await reopen().tail()
  return { damage, kept, outcome: damage.every(({ fix }) => fix) ? 'restored' : 'cut', lastSeq: Math.max(0, seq) }
}

async function mend(
  fileSystem: FileSystem,
  { damage, end }: { damage: Damage; end: number },
  kept: string | undefined,
): Promise<void> {
  const file = await fileSystem.open(damage.file, 'write')
  try {
    if (kept) await copyFile(fileSystem, file, kept)
    if (damage.fix) await file.write(Uint8Array.of(damage.fix.byte), damage.fix.offset)
    else await file.truncate(end)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Reads everything, and says where what holds ends. */
async function findEnd(session: SessionFile): Promise<{ damage: Damage | undefined; end: number }> {
  let end = 0
  try {
    for await (const batch of session.readLines({ seq: 0, offset: 0 })) end = batch.end
    return { damage: undefined, end }
  } catch (error) {
    const damage = findDamage(error)
    if (!damage) throw error
    return { damage, end }
  }
}
