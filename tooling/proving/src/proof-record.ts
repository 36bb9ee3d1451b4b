import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import type { Project } from './project.ts'
import type { Proof } from './prove.ts'

/** Proofs of earlier runs, so that one that was cut off continues where it was. */
export type ProofRecords = {
  /** The proof without faults that this build of Matrix gave of this entry of the corpus. */
  find(project: Project): Proof | undefined
  keep(project: Project, proof: Proof): void
}

const Difference = z.object({
  test: z.string(),
  outside: z.string(),
  inside: z.string(),
  why: z.string().optional(),
})
const Recorded = z.object({
  key: z.string(),
  proof: z.object({
    name: z.string(),
    language: z.string(),
    outside: z.number(),
    inside: z.number(),
    differing: z.array(Difference.transform(({ why, ...one }) => ({ ...one, why }))),
    unstable: z.array(z.string()),
    outsideMs: z.number(),
    insideMs: z.number(),
    faults: z.array(z.string()),
  }),
})

/** `builds` are the folders of the programs under test: another byte in them, and nothing of before counts. */
export function openProofRecords(folder: string, builds: readonly string[]): ProofRecords {
  const build = digestFolders(builds)
  const fileOf = ({ name }: Project) => join(folder, `${name}.json`)
  const keyOf = (project: Project) => sha256([build, process.version, JSON.stringify(project)])
  return {
    find(project) {
      const { key, proof } = readRecord(fileOf(project)) ?? {}
      return key === keyOf(project) && proof?.faults.length === 0 ? proof : undefined
    },
    keep(project, proof) {
      mkdirSync(folder, { recursive: true })
      const making = `${fileOf(project)}.making`
      writeFileSync(making, JSON.stringify({ key: keyOf(project), proof }))
      renameSync(making, fileOf(project))
    },
  }
}

function readRecord(file: string): z.infer<typeof Recorded> | undefined {
  try {
    return Recorded.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    // Missing, or written by another version of this program: the project is proven again.
    return undefined
  }
}

function digestFolders(folders: readonly string[]): string {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  return sha256(files.sort().flatMap((file) => [file, readFileSync(file)]))
}

function sha256(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:`).update(part)
  return hash.digest('hex')
}
