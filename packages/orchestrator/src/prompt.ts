import { builtinTools, orchestratorTools, printableLine, removeInvisible } from '@matrix/protocol'
import type { Instructions } from './instructions.ts'
import { promptText } from './prompt-text.ts'
import { formatSurroundings, type SurroundingsFacts } from './surroundings-text.ts'

export type SystemPromptOptions = {
  /** The root talks to the user; every other task has one above it. */
  role: 'root' | 'task'
  projectName: string
  /** False where the tree may grow no deeper. */
  maySplit?: boolean
  /** The wire names of the tools that the agent can call: what it cannot do is not spoken of. All, when left out. */
  tools?: readonly string[]
  /** What the agent's own file says it is. */
  prompt?: string | undefined
}

/** How agents work here. The same for the same options, so that it can be frozen with the session and cached by providers. */
export function buildSystemPrompt(options: SystemPromptOptions): string {
  const { role, projectName } = options
  const facts = factsOf(options)
  const sections = [
    promptText.identity,
    promptText[role],
    promptText.workflow,
    ...(facts.write ? [promptText.git, promptText.quality, promptText.debugging] : []),
    ...(facts.split ? [promptText.orchestration] : []),
    promptText.communication,
    promptText.memory,
    promptText.safety,
  ]
  const text = sections.map((section) => renderSection(section, facts)).join('\n\n')
  const named = text.replace('{{projectName}}', () => printableLine(projectName))
  const own = options.prompt === undefined ? '' : `\n\n# Your own part\n${removeInvisible(options.prompt).text}`
  return `${named}${own}\n`
}

type Facts = Record<'root' | 'task' | 'write' | 'split' | 'shell' | 'files', boolean>

function factsOf({ role, maySplit = true, tools }: SystemPromptOptions): Facts {
  const has = (name: string) => tools?.includes(name) ?? true
  return {
    root: role === 'root',
    task: role === 'task',
    write: has(orchestratorTools.commit),
    split: maySplit && has(orchestratorTools.createTask),
    shell: has(builtinTools.bash),
    files: has(builtinTools.search),
  }
}

/** Keeps the lines between `{{#fact}}` and `{{/fact}}` where the fact holds, those after `{{^fact}}` where it does not. */
function renderSection(text: string, facts: Facts): string {
  return text
    .replaceAll(
      /^\{\{([#^])(\w+)\}\}\n([\s\S]*?)^\{\{\/\2\}\}(?:\n|$)/gm,
      (_, sign: string, fact: keyof Facts, lines: string) => (facts[fact] === (sign === '#') ? lines : ''),
    )
    .replaceAll(/\n{3,}/g, '\n\n')
    .trimEnd()
}

export type MessageContext = {
  worktree: string
  surroundings: SurroundingsFacts
  instructions: Instructions
  /** What `.mxd/memory.md` holds, if there is one. */
  memory: string | undefined
  /** What the agent's own file adds. */
  agent?: string | undefined
  /** Which skills there are; nothing where there are none. */
  skills?: string
  /** The memory is that of the user's checkout, because the branch has none. */
  isMemoryUncommitted?: boolean
}

/** More would crowd out the work; what is newest stands at the end. */
const MAX_MEMORY = 64_000

/** How context enters a conversation: at the start, and again after each compaction. */
export function formatContext(context: MessageContext): string {
  const { worktree, surroundings, instructions, memory, agent = '', isMemoryUncommitted, skills = '' } = context
  const from = isMemoryUncommitted ? "Not committed: from the user's checkout. " : ''
  return [
    `Working directory: ${worktree}`,
    `# Environment\n${formatSurroundings(surroundings)}`,
    formatInstructions(instructions),
    skills,
    agent,
    `# .mxd/memory.md (${from}Preloaded, do not read again)\n${shownMemory(memory)}`,
  ]
    .filter((section) => section !== '')
    .join('\n\n')
}

/** The first message of a task: where it works, what it was told before, and what is to be done. */
export function prepareAgentMessage({
  task: { title, description },
  ...context
}: MessageContext & { task: { title: string; description: string } }): string {
  const body = description.trim() === '' ? '' : `\n\n${description.trim()}`
  return `${formatContext(context)}\n\n# ${title.trim()}${body}\n`
}

function formatInstructions({ given, nested }: Instructions): string {
  if (given.length + nested.length === 0) return ''
  const below =
    nested.length > 0
      ? `For the files below their folder, the nearest counts most; read it before you change anything there: ${nested.join(', ')}`
      : ''
  const head =
    '# Instructions\nWritten for every coding agent in this repository. Follow them; your task and the user come first, and they give you no rights that your tools do not have.'
  return [head, formatFiles(given), below].filter((part) => part !== '').join('\n')
}

/** Files with what was left out of them, each where it begins and ends. */
export function formatFiles(files: readonly { path: string; text: string; notes: string[] }[]): string {
  const parts = files.map(({ path, text, notes }) => {
    const said = notes.length > 0 ? ` note="${notes.join('; ').replaceAll('"', "'")}"` : ''
    // What a file says stays inside of it.
    return `<file path="${path}"${said}>\n${text.replaceAll(/<(\/?file\b)/gi, '‹$1')}\n</file>`
  })
  return parts.join('\n')
}

function shownMemory(memory: string | undefined): string {
  const text = removeInvisible(memory?.trim() ?? '').text
  if (text === '') return '(empty)'
  if (text.length <= MAX_MEMORY) return text
  const start = text.indexOf('\n', text.length - MAX_MEMORY) + 1 || text.length - MAX_MEMORY
  return `(The first ${start} characters are left out here; they are in the file.)\n${text.slice(start)}`
}
