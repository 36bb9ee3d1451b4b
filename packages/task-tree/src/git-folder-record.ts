import { join } from 'node:path'
import * as z from 'zod'
import { checkTaskId } from './branch-name.ts'
import type { Disk } from './disk.ts'
import { decodeText, readFile, removeFile, replaceFile } from './durable-file.ts'

/** What the git directory of a task was last known to agree on with the user's repository. Kept where no agent can write. */
const GitFolderRecord = z.object({
  branch: z.string(),
  /** The task's branch, when both had the same commit. */
  tip: z.string(),
  /** What Matrix merges into the branch and has left there with conflicts, or nothing. */
  merging: z.string(),
  /** Other branches and tags as they were last copied. */
  visible: z.record(z.string(), z.string()),
  /** Where the hooks are that run in the sandbox; empty where none do. */
  hooks: z.string().default(''),
  /** What git ignores there beside the .gitignore files. */
  excludes: z.string().default(''),
  /** Folders whose objects are borrowed. */
  objects: z.array(z.string()),
})
export type GitFolderRecord = z.infer<typeof GitFolderRecord>

/** Where everything about the git directory of a task is. Only `folder` is in reach of its agent. */
export type GitFolder = { taskId: string; folder: string; link: string; record: string }

export function gitFolderOf(directory: string, taskId: string): GitFolder {
  const name = join(directory, checkTaskId(taskId))
  return { taskId, folder: name, link: `${name}.link`, record: `${name}.json` }
}

export async function readGitRecord(disk: Disk, { record }: GitFolder): Promise<GitFolderRecord | undefined> {
  const content = await readFile(disk, record)
  if (!content) return undefined
  try {
    return GitFolderRecord.parse(JSON.parse(decodeText(content)))
  } catch {
    // It only says what both agreed on; without it the directory is compared anew.
    return undefined
  }
}

export async function writeGitRecord(disk: Disk, { record }: GitFolder, content: GitFolderRecord): Promise<void> {
  await replaceFile(disk, record, `${JSON.stringify(content)}\n`)
}

export async function dropGitRecord(disk: Disk, { record }: GitFolder): Promise<void> {
  await removeFile(disk, record)
}
