import type { DurableEvent, ToolContent } from '../event.ts'
import { BUILTIN_ALIAS, type BuiltinTool, type LoopTool, type OrchestratorTool } from '../tool-names.ts'
import { type Body, block, type Display, type DisplayOptions, display, json, line, prose } from './display.ts'
import { editLines, patchLines } from './patch-lines.ts'
import { plural } from './quantity.ts'
import { fileBody, searchBody } from './tool-output.ts'

export type ToolCallEvent = Extract<DurableEvent, { type: 'tool_call' }>
export type ToolCall = Pick<ToolCallEvent, 'name' | 'input' | 'invalidInput'>
export type ToolResult = { content: readonly ToolContent[]; isError: boolean }

/** How one tool is shown: what it is asked, and what its answer is. Whatever is left out is shown as for any tool. */
type ToolView = {
  title: (input: Input, options: DisplayOptions) => string
  /** `trace` where an event of its own says the same. */
  weight?: Display['weight']
  summary?: (input: Input, options: DisplayOptions) => string
  bodies?: (input: Input, options: DisplayOptions) => Body[]
  result?: (text: string, input: Input, options: DisplayOptions) => Partial<Display>
}

/** A tool call before it has been answered. */
export function displayToolCall(call: ToolCall, options: DisplayOptions = {}): Display {
  const { title, summary, bodies, weight = 'main' } = viewOf(call.name)
  if (call.invalidInput !== undefined)
    return display({
      speaker: 'agent',
      tone: 'bad',
      title: toolName(call.name),
      summary: 'not called: the model wrote something that is no JSON object',
      bodies: [{ kind: 'text', text: block(call.invalidInput, options) }],
    })
  const input = readInput(call.input)
  return display({
    speaker: 'agent',
    weight,
    title: title(input, options),
    summary: summary?.(input, options) ?? '',
    bodies: bodies?.(input, options) ?? [],
  })
}

/** What a tool answered. Without its call it can still be read, but not as well. */
export function displayToolResult(
  { content, isError }: ToolResult,
  call: ToolCall | undefined,
  options: DisplayOptions = {},
): Display {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const images = content.flatMap((part): Body[] =>
    part.type === 'image' ? [{ kind: 'image', mediaType: part.mediaType, data: part.data }] : [],
  )
  const view = viewOf(call?.name ?? '')
  const input = readInput(call?.input)
  const shown = isError ? undefined : view.result?.(text, input, options)
  const base = failureOf(text, isError, options) ?? plainResult(text, images.length, options)
  return display({
    speaker: 'tool',
    weight: 'detail',
    title: call ? view.title(input, options) : 'Result',
    ...base,
    ...shown,
    ...(isError ? { tone: 'bad' as const } : {}),
    bodies: [...(shown?.bodies ?? base.bodies), ...images],
  })
}

/** What people call a tool: its own name for Matrix's own, the server's in front for any other. */
export function toolName(wireName: string): string {
  const [, alias, tool] = /^mcp__(.+?)__(.+)$/s.exec(wireName) ?? []
  if (alias === undefined || tool === undefined) return line(wireName, 100)
  return line(alias === BUILTIN_ALIAS ? tool : `${alias}/${tool}`, 100)
}

/** Fields by name, however it is spelled: a model may write `taskId` where the schema says `task_id`. */
type Input = { text(name: string): string; list(name: string): unknown[]; has(name: string): boolean; whole: unknown }

function readInput(value: unknown): Input {
  const fields = new Map<string, unknown>()
  if (typeof value === 'object' && value !== null)
    for (const [key, field] of Object.entries(value)) fields.set(plainName(key), field)
  const get = (name: string) => fields.get(plainName(name))
  return {
    text: (name) => {
      const field = get(name)
      return typeof field === 'string' ? field : field === undefined || field === null ? '' : JSON.stringify(field)
    },
    list: (name) => {
      const field = get(name)
      return Array.isArray(field) ? field : []
    },
    has: (name) => get(name) !== undefined,
    whole: value,
  }
}

function plainName(key: string): string {
  return key.replaceAll('_', '').toLowerCase()
}

/** Matrix's own errors are for people too: what happened, and what to do about it. */
function failureOf(
  text: string,
  isError: boolean,
  options: DisplayOptions,
): Pick<Display, 'summary' | 'bodies'> | undefined {
  const { error } = (isError ? (parseJson(text) as { error?: unknown } | undefined) : undefined) ?? {}
  const { message, hint } = (error ?? {}) as { message?: unknown; hint?: unknown }
  if (typeof message !== 'string') return undefined
  const whole = [message, typeof hint === 'string' ? hint : ''].filter(Boolean)
  return { summary: whole.join(' '), bodies: prose(whole.join('\n'), options) }
}

function plainResult(text: string, images: number, options: DisplayOptions): Pick<Display, 'summary' | 'bodies'> {
  if (text.trim() === '') return { summary: images > 0 ? plural(images, 'picture') : 'no output', bodies: [] }
  const body = asJson(text, options) ?? { kind: 'text', text: block(text, options) }
  return { summary: text.trimStart(), bodies: [body] }
}

function asJson(text: string, options: DisplayOptions): Body | undefined {
  const value = parseJson(text)
  return value === undefined ? undefined : json(value, options)
}

function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function viewOf(wireName: string): ToolView {
  const name = toolName(wireName)
  if (wireName.startsWith(`mcp__${BUILTIN_ALIAS}__`) && isOwn(name)) return views[name]
  return { title: () => name || 'tool', summary: (input) => compact(input.whole), bodies: wholeInput }
}

function isOwn(name: string): name is keyof typeof views {
  return Object.hasOwn(views, name)
}

function compact(input: unknown): string {
  if (typeof input !== 'object' || input === null) return input === undefined ? '' : String(input)
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? line(value, 60) : JSON.stringify(value)}`)
    .join(', ')
}

function wholeInput(input: Input, options: DisplayOptions): Body[] {
  const isEmpty = typeof input.whole !== 'object' || input.whole === null || Object.keys(input.whole).length === 0
  return isEmpty ? [] : [json(input.whole, options)]
}

/** The task that a call is about, by its title where it is known. */
function task(input: Input, { titleOf }: DisplayOptions, field = 'task_id'): string {
  const id = input.text(field) || input.text('node_id') || input.text('id')
  return titleOf?.(id) ?? id
}

function proseOf(field: string): NonNullable<ToolView['bodies']> {
  return (input, options) => prose(input.text(field), options)
}

function onTask(title: string): ToolView {
  return { title: () => title, summary: (input, options) => task(input, options) }
}

type ShortName<Wire> = Wire extends `mcp__${typeof BUILTIN_ALIAS}__${infer Name}` ? Name : never

const views: Record<ShortName<BuiltinTool | OrchestratorTool | LoopTool>, ToolView> = {
  bash: {
    title: (input) => (input.text('background') === 'true' ? 'Run in the background' : 'Run'),
    summary: (input) => input.text('command'),
    bodies: (input, options) => [{ kind: 'command', command: block(input.text('command'), options), output: null }],
    result: (text, input, options) => commandResult(text, input.text('command'), options),
  },
  background: {
    title: (input) => `Background: ${input.text('action')}`,
    summary: (input) => input.text('id'),
    result: (text, _input, options) => commandResult(text, null, options),
  },
  read_file: {
    title: () => 'Read',
    summary: (input) => `${input.text('path')}${rangeOf(input)}`,
    result: (text, input, options) => {
      const body = fileBody(input.text('path'), text, options)
      return body ? { summary: plural(body.lines, 'line'), bodies: body.bodies } : {}
    },
  },
  write_file: {
    title: () => 'Write',
    summary: (input) => `${input.text('path')} (${plural(countLines(input.text('content')), 'line')})`,
    bodies: (input, options) => [
      { kind: 'file', path: line(input.text('path'), 400), firstLine: 1, text: block(input.text('content'), options) },
    ],
  },
  edit_file: {
    title: () => 'Edit',
    summary: (input, options) => {
      const lines = editLines(input.text('old_string'), input.text('new_string'), options)
      const count = (mark: string) => lines.filter((one) => one.startsWith(mark)).length
      const every = input.text('replace_all') === 'true' ? ', every match' : ''
      return `${input.text('path')} (+${count('+')} −${count('-')}${every})`
    },
    bodies: (input, options) => [
      {
        kind: 'diff',
        path: line(input.text('path'), 400),
        lines: editLines(input.text('old_string'), input.text('new_string'), options),
      },
    ],
  },
  list_files: {
    title: () => 'List',
    summary: (input) => [input.text('path'), input.text('pattern')].filter(Boolean).join(' ') || 'all files',
    result: (text, _input, options) => searchBody(text, 'file', options),
  },
  search: {
    title: () => 'Search',
    summary: (input) => [input.text('pattern'), input.text('path'), input.text('glob')].filter(Boolean).join(' in '),
    result: (text, _input, options) => searchBody(text, 'match', options),
  },

  create_task: {
    title: () => 'Create task',
    summary: (input) => input.text('title'),
    bodies: proseOf('description'),
  },
  update_task: { ...onTask('Change task'), bodies: wholeInput },
  delete_task: onTask('Delete task'),
  reset_task: onTask('Reset task'),
  close_task: onTask('Close task'),
  reorder_tasks: { title: () => 'Reorder tasks', summary: (input) => plural(input.list('children').length, 'task') },
  send_message: {
    title: (input, options) => {
      const to = task(input, options)
      return to === '' ? 'Send' : `Send to ${to}`
    },
    summary: (input) => messageOf(input),
    bodies: (input, options) => prose(messageOf(input), options),
  },
  get_tree: { title: () => 'Look at the tree' },
  get_task: onTask('Look at task'),
  list_projects: { title: () => 'List projects' },
  send_message_to_project: {
    title: (input) => `Send to project ${input.text('project') || input.text('project_id')}`,
    summary: (input) => messageOf(input),
    bodies: (input, options) => prose(messageOf(input), options),
  },
  fork_task_context: {
    title: () => 'Hand over what was learned',
    summary: (input, options) =>
      `${task(input, options, 'source_task_id')} → ${task(input, options, 'target_task_id')}`,
  },
  commit: { title: () => 'Commit', summary: (input) => input.text('message'), bodies: proseOf('message') },
  update_branch: { title: () => 'Bring the branch up to date' },
  request_access: {
    title: (input) => `Ask for access to ${input.text('host')}`,
    summary: (input) => input.text('why'),
  },
  get_changes: {
    ...onTask('Look at changes'),
    result: (text, _input, options) => {
      const lines = patchLines(text, options)
      return lines ? { bodies: [{ kind: 'diff', path: null, lines }] } : {}
    },
  },
  merge_task: onTask('Merge'),
  rerun_setup: { title: () => 'Run the setup again' },
  use_skill: {
    title: () => 'Read a skill',
    summary: (input) => [input.text('name'), input.text('file')].filter(Boolean).join('/'),
  },

  yield: { title: () => 'Wait for a message', summary: (input) => input.text('reason') },
  done: {
    title: (input) => (input.text('status') === 'failed' ? 'Done: failed' : 'Done: passed'),
    summary: (input) => input.text('summary'),
    bodies: proseOf('summary'),
  },
  clarify: {
    title: () => 'Ask',
    weight: 'trace',
    summary: (input) => input.text('question'),
    bodies: (input, options) =>
      prose([input.text('question'), ...input.list('options').map((one) => `- ${String(one)}`)].join('\n'), options),
  },
}

function messageOf(input: Input): string {
  return input.text('message') || input.text('content') || input.text('text')
}

function rangeOf(input: Input): string {
  if (!input.has('offset') && !input.has('limit')) return ''
  const first = Number(input.text('offset') || 1)
  return input.has('limit') ? ` (lines ${first}–${first + Number(input.text('limit')) - 1})` : ` (from line ${first})`
}

function countLines(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
}

/** What the shell tools append in brackets says how it ended; the rest is output. */
function commandResult(text: string, command: string | null, options: DisplayOptions): Partial<Display> {
  const ending = /\[(exit code [^\]]{1,40}|ended[^\]]{0,100})\]/.exec(text.slice(-400))?.[1]
  const lines = countLines(text)
  const failed = ending !== undefined && ending !== 'exit code 0'
  return {
    tone: failed ? 'warning' : 'plain',
    summary: [ending, lines > 1 ? plural(lines, 'line') : ending ? '' : text].filter(Boolean).join(', '),
    bodies: [
      {
        kind: 'command',
        command: command === null ? null : block(command, options),
        output: block(text, options),
      },
    ],
  }
}
