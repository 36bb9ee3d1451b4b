import type { Prompts } from './project-context.ts'

export function agentPrompts({ projectName }: { projectName: string }): Prompts {
  return {
    system: (role) => `You are the ${role} agent of ${projectName}.`,
    header: ({ worktree, memory, task }) =>
      `Working directory: ${worktree}\n\n# .mxd/memory.md (Preloaded, do not read again)\n${memory ?? ''}\n\n# ${task.title}\n${task.description}`,
  }
}
