import { readInstructions } from '../instructions.ts'
import type { Prompts } from '../project-context.ts'
import { buildSystemPrompt, prepareAgentMessage } from '../prompt.ts'
import type { SurroundingsFacts } from '../surroundings-text.ts'
import type { Files } from '../world.ts'
import { findNestedInstructions } from './nested-instructions.ts'

export type NodePromptsOptions = {
  files: Files
  projectName: string
  /** The user's own checkout. */
  checkout: string
  /** The user's home, where instructions for every project lie. */
  home: string
  describe(worktree: string, tools: readonly string[]): Promise<SurroundingsFacts>
}

/** What the agents of one project are told, read from the files that are there now. */
export function openNodePrompts({ files, projectName, checkout, home, describe }: NodePromptsOptions): Prompts {
  const read = (worktree: string, findNested: (folder: string) => Promise<string[]>) =>
    readInstructions(files, { worktree, checkout, home }, findNested)

  return {
    system: (role, options) => buildSystemPrompt({ role, projectName, ...options }),
    instructions: async (worktree) => (await read(worktree, async () => [])).given,
    async header({ worktree, task, tools, skills, agent }) {
      const own = await readMemory(files, worktree)
      // What the user has not committed yet is on no branch, and is meant for agents all the same.
      const memory = own ?? (await readMemory(files, checkout))
      return prepareAgentMessage({
        worktree,
        surroundings: await describe(worktree, tools),
        instructions: await read(worktree, findNestedInstructions),
        memory,
        agent,
        skills,
        isMemoryUncommitted: own === undefined && memory !== undefined,
        task,
      })
    },
  }
}

async function readMemory(files: Files, folder: string): Promise<string | undefined> {
  const text = await files.read(`${folder}/.mxd/memory.md`, { inside: folder })
  return text?.trim() ? text : undefined
}
