import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import type { ApprovalMemory } from './approval.ts'

const Approved = z.object({ approved: z.array(z.string()) })

/**
 * What a person has agreed to for always, in a file of the user's own. It is read anew for each question, so that what
 * somebody takes out of it is taken back at once; a file that cannot be read approves nothing.
 */
export function openApprovalFile(path: string): ApprovalMemory {
  const read = (): string[] => {
    try {
      return Approved.parse(JSON.parse(readFileSync(path, 'utf8'))).approved
    } catch {
      return []
    }
  }
  return {
    has: (key) => read().includes(key),
    add(key) {
      const approved = [...new Set([...read(), key])]
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const temporary = `${path}.${process.pid}.tmp`
      writeFileSync(temporary, `${JSON.stringify({ approved }, null, 2)}\n`, { mode: 0o600 })
      renameSync(temporary, path)
    },
  }
}
