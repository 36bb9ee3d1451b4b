import { printableLine } from '@matrix/protocol'
import { promptText } from './prompt-text.ts'

export type SystemPromptOptions = {
  /** The root talks to the person; every other task has one above it. */
  role: 'root' | 'task'
  projectName: string
  /** False where the tree may grow no deeper: then nothing is said about splitting work. */
  maySplit?: boolean
}

/** How agents work here. The same for the same options, so that it can be frozen with the session and cached by providers. */
export function buildSystemPrompt({ role, projectName, maySplit = true }: SystemPromptOptions): string {
  const sections = [
    promptText.identity.replace('{{projectName}}', () => printableLine(projectName)),
    promptText[role],
    promptText.workflow,
    promptText.git,
    promptText.quality,
    promptText.debugging,
    ...(maySplit ? [promptText.orchestration] : []),
    promptText.communication,
    promptText.memory,
    promptText.safety,
  ]
  return `${sections.join('\n\n')}\n`
}

export type MessageContext = {
  worktree: string
  /** What `.mxd/memory.md` of the worktree holds, if there is one. */
  memory: string | undefined
}

/** More would crowd out the work; what is newest stands at the end. */
const MAX_MEMORY = 64_000

/** How context enters a conversation: at the start, and again after each compaction. */
export function formatContext({ worktree, memory }: MessageContext): string {
  return `Working directory: ${worktree}\n\n# .mxd/memory.md (Preloaded, do not read again)\n${shownMemory(memory)}`
}

/** The first message of a task: where it works, what the project remembers, and what is to be done. */
export function prepareAgentMessage({
  task: { title, description },
  ...context
}: MessageContext & { task: { title: string; description: string } }): string {
  const body = description.trim() === '' ? '' : `\n\n${description.trim()}`
  return `${formatContext(context)}\n\n# ${title.trim()}${body}\n`
}

function shownMemory(memory: string | undefined): string {
  const text = memory?.trim() ?? ''
  if (text === '') return '(empty)'
  if (text.length <= MAX_MEMORY) return text
  const start = text.indexOf('\n', text.length - MAX_MEMORY) + 1 || text.length - MAX_MEMORY
  return `(The first ${start} characters are left out here; they are in the file.)\n${text.slice(start)}`
}
