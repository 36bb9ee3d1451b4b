import { BUILTIN_ALIAS } from '@matrix/protocol'
import { nativeTools } from '../agent-format/native-tool-alias.ts'
import { isToolAllowed, type ToolName } from '../policy/tool-pattern.ts'

/** What a tool is held to; a list that is absent limits nothing. */
export type ToolLimits = { commands?: string[]; paths?: string[] }

/** The tools that a list of another program names, as Matrix calls them: `bash`, `@server/tool`, `@server`, `*`. */
export type ToolGrants = ReadonlyMap<string, ToolLimits>

export type GrantReading = {
  grants: ToolGrants
  /** Entries without an effect, by their index, and why. */
  notes: { index: number; message: string }[]
}

/** Far above any that people write. */
const MAX_LIST = 4096

const reading = ['read_file', 'list_files', 'search']
const writing = ['write_file', 'edit_file']
const shell = ['bash', 'background']

// One tool there can be several here, so that a denial of the one cannot be walked around through another.
const counterparts: readonly (readonly [tools: readonly string[], names: string])[] = [
  [reading, 'read readfile readmanyfiles view fsread notebookread ls list listdirectory'],
  [writing, 'write writefile edit editfile multiedit notebookedit patch applypatch replace strreplace fswrite'],
  [['search'], 'grep grepsearch searchfilecontent codebase'],
  [['list_files'], 'glob globsearch findfiles'],
  [shell, 'bash bashoutput killbash killshell shell execute executebash runshellcommand runcommands terminal'],
]

/** What every agent of Matrix has, with no list that could name it. */
const given =
  'task agent skill askuserquestion question clarify exitplanmode slashcommand taskoutput taskstop subagent delegate'

/** Every name above and the tools that it stands for. */
const foreignToolNames: ReadonlyMap<string, readonly string[]> = new Map([
  ...counterparts.flatMap(([tools, names]) => names.split(' ').map((name) => [name, tools] as const)),
  ...given.split(' ').map((name) => [name, []] as const),
])

/** Reads `Read`, `Bash(git:*)`, `mcp__server__tool`, `@server/tool` and their like. */
export function readToolList(entries: readonly string[]): GrantReading {
  const grants = new Map<string, ToolLimits>()
  const notes: GrantReading['notes'] = []
  for (const [index, entry] of entries.entries()) {
    const read = entry.length > MAX_LIST ? undefined : /^([^(]*)(?:\((.*)\))?$/s.exec(entry.trim())
    const [, name = '', detail = ''] = read ?? []
    const tools = toolsOf(name.trim())
    if (!tools)
      notes.push({
        index,
        message: `Matrix has no tool ${JSON.stringify(entry.slice(0, 80))}; the entry has no effect.`,
      })
    else for (const tool of tools) grants.set(tool, union(grants.get(tool), limitsOf(tool, detail)))
  }
  return { grants, notes }
}

/** The entries of a list, none where a part of it cannot be read: what the rest means is then in doubt. */
export type ToolList = { entries: string[]; problem?: string }

export const listFix =
  'Write names with commas between them, and what limits one in brackets right behind it: Bash(git:*).'

/** Splits a list that is written in one line: commas or blanks stand between its entries, but not inside brackets. */
export function splitToolList(text: string): ToolList {
  if (text.length > MAX_LIST)
    return { entries: [], problem: `The list has ${text.length} characters; ${MAX_LIST} are read.` }
  const entries: string[] = []
  let start = 0
  let depth = 0
  for (let at = 0; at <= text.length; at += 1) {
    const char = text[at] ?? ','
    // Read apart from its brackets, a name would be granted without a limit.
    if (char === '(' && at === start)
      return { entries: [], problem: 'The list has brackets without a name before them.' }
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth < 0) break
    if (depth > 0 || !/[\s,]/.test(char)) continue
    if (at > start) entries.push(text.slice(start, at))
    start = at + 1
  }
  return depth === 0 ? { entries } : { entries: [], problem: 'The list has a bracket without its counterpart.' }
}

/** The limits that hold for a tool, or undefined where no entry names it. */
export function findGrant(grants: ToolGrants, name: ToolName): ToolLimits | undefined {
  const found = [...grants].filter(([pattern]) => pattern === '*' || isToolAllowed([pattern], name))
  return found.reduce<ToolLimits | undefined>((sum, [, limits]) => union(sum, limits), undefined)
}

function toolsOf(name: string): readonly string[] | undefined {
  if (name === '*') return ['*']
  const [, server, tool] =
    /^mcp__(.+?)(?:__(.*))?$/.exec(name) ?? /^@([^/]+)(?:\/(.*))?$/.exec(name) ?? /^(\w[\w.-]*)\/(.+)$/.exec(name) ?? []
  if (server === undefined)
    return nativeTools.includes(name) && name !== 'bash'
      ? [name]
      : foreignToolNames.get(name.toLowerCase().replace(/[-_]/g, ''))
  const isAll = tool === undefined || tool === '' || tool === '*'
  if ([BUILTIN_ALIAS, 'builtin', 'native'].includes(server)) return isAll ? nativeTools : toolsOf(tool)
  return [isAll ? `@${server}` : `@${server}/${tool}`]
}

/** Two entries for one tool allow what either does. */
function union(a: ToolLimits | undefined, b: ToolLimits): ToolLimits {
  if (!a) return b
  const both = (one: string[] | undefined, other: string[] | undefined) =>
    one && other && [...new Set([...one, ...other])]
  const [commands, paths] = [both(a.commands, b.commands), both(a.paths, b.paths)]
  return { ...(commands && { commands }), ...(paths && { paths }) }
}

function limitsOf(tool: string, detail: string): ToolLimits {
  const text = detail.trim()
  if (text === '' || /^\*+$/.test(text)) return {}
  if (tool === 'bash') return { commands: [commandPattern(text)] }
  return reading.includes(tool) || writing.includes(tool)
    ? { paths: [text.replace(/^\.?\/(?!\/)/, '').replace(/^\/\//, '/')] }
    : {}
}

/** `git:*` and `git *` are the command with anything behind it; other stars stand for any characters. */
function commandPattern(text: string): string {
  const start = text.replace(/(?::| )\*$/, '')
  const words = start.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return `${words.join('.*')}${start === text ? '' : '(?:\\s.*)?'}`
}
