import { formatToolUri, isOwnServer } from '@matrix/manifest'
import {
  type DurableEvent,
  mergeSources,
  type Origin,
  orchestratorTools,
  type TaskNode,
  type UntrustedSource,
} from '@matrix/protocol'
import { recordTask, type TaskTree } from '@matrix/task-tree'
import { isHostCovered, type ResolvedTool, type ToolResult } from '@matrix/tool-manager'
import type { EventOf } from './agent.ts'

/** What of the outside the user trusts: hosts as in `hosts`, and the servers of manifests as `@alias`. */
export type TrustedSources = readonly string[]

type Tree = Pick<TaskTree, 'find' | 'list' | 'ancestors'>

/** Where the result of a call came from: decided by the tool, its server and what was reached, never by what the result says. */
export function originOfCall(
  { uri, server, tool }: ResolvedTool,
  { reached = [], code }: Pick<ToolResult, 'reached' | 'code'>,
  trusted: TrustedSources,
): Origin {
  const name = formatToolUri(uri)
  // The words of a tool that failed are its server's own; every other code is Matrix speaking.
  if (code !== undefined && code !== 'TOOL_FAILED') return { source: 'matrix', trusted: true, name }
  const digest = server.package_digest
  const foreign = reached.filter((host) => !isTrustedHost(trusted, host))
  const isOwn = isOwnServer(server)
  const hosts = isOwn && foreign.length > 0 ? foreign : reached
  const about = { name, ...(digest && { digest }), ...(hosts.length > 0 && { hosts }) }
  if (isOwn) return { source: foreign.length > 0 ? 'web' : 'repository', trusted: foreign.length === 0, ...about }
  const isRemote = server.transport === 'http' || tool.side_effect_class === 'network' || reached.length > 0
  return { source: isRemote ? 'web' : 'tool', trusted: trusted.includes(`@${server.alias}`), ...about }
}

/** The same for the orchestrator's own tools: some show what other tasks have written. */
export function originOfOwnCall(tree: Tree, taskId: string, name: string, input: Record<string, unknown>): Origin {
  const from = shownTasks(tree, taskId, name, input).reduce<UntrustedSource[]>(
    (known, { untrusted = [] }) => mergeSources(known, untrusted),
    [],
  )
  return from.length > 0 ? { source: 'agent', name, trusted: false, from } : { source: 'matrix', name, trusted: true }
}

function shownTasks(tree: Tree, taskId: string, name: string, input: Record<string, unknown>): TaskNode[] {
  if (name === orchestratorTools.getTree) return tree.list()
  if (name === orchestratorTools.updateBranch) return tree.ancestors(taskId).slice(0, 1)
  const names: string[] = [orchestratorTools.getTask, orchestratorTools.getChanges, orchestratorTools.mergeTask]
  return names.includes(name) ? namedTasks(tree, input.taskId) : []
}

/** The tasks that an agent may mean by an id or the beginning of one, whatever it wrote there. */
export function namedTasks(tree: Pick<TaskTree, 'list'>, id: unknown): TaskNode[] {
  const start = String(id).toUpperCase()
  return start.length < 8 ? [] : tree.list().filter((task) => task.id.startsWith(start))
}

/**
 * Says of each event that carries content where it came from. What is new and untrusted is kept with the task before the event
 * is stored, so that no crash can leave the one without the other.
 */
export async function labelEvents(tree: TaskTree, taskId: string, events: DurableEvent[]): Promise<DurableEvent[]> {
  const before = tree.find(taskId)?.untrusted ?? []
  let known = before
  const labelled = events.map((event) => {
    const origin = originOfEvent(tree, event, known)
    if (!origin || !isContent(event)) return event
    known = mergeSources(known, origin.from ?? [])
    return { ...event, origin }
  })
  if (known.length > before.length) await recordTask(tree, taskId, { untrusted: known })
  return labelled
}

const contentTypes = [
  'message',
  'assistant_text',
  'tool_call',
  'tool_result',
  'compact_marker',
  'compacted_resume',
  'notice',
  'orchestration_completed',
  'task_started',
  'clarification_requested',
  'clarification_answered',
  'rewind_marker',
] as const satisfies readonly DurableEvent['type'][]

type ContentEvent = EventOf<(typeof contentTypes)[number]>

function isContent(event: DurableEvent): event is ContentEvent {
  return (contentTypes as readonly string[]).includes(event.type)
}

function originOfEvent(tree: Tree, event: DurableEvent, known: readonly UntrustedSource[]): Origin | undefined {
  const isClean = known.length === 0
  const carried = isClean ? {} : { from: [...known] }
  switch (event.type) {
    case 'message':
      return event.origin ? withSource(event.origin, event, event.message.id) : originOfMessage(tree, event)
    case 'tool_result':
      return event.origin ? withSource(event.origin, event, event.callId) : { source: 'matrix', trusted: true }
    case 'assistant_text':
    case 'tool_call':
    case 'clarification_requested':
    case 'orchestration_completed':
      return { source: 'agent', trusted: isClean }
    // From these on the conversation is read anew, so they repeat what is in it. Files stay as they are when it is taken back.
    case 'compact_marker':
    case 'compacted_resume':
    case 'rewind_marker':
      return { source: 'agent', trusted: isClean, ...carried }
    case 'task_started': {
      const from = mergeSources(known, tree.ancestors(event.taskId).find(({ folder }) => !folder)?.untrusted ?? [])
      const source = tree.find(event.taskId)?.editedBy ?? 'user'
      return { source, trusted: from.length === 0, ...(from.length > 0 && { from }) }
    }
    case 'clarification_answered':
      return { source: event.by === 'user' ? 'user' : 'matrix', trusted: true }
    case 'notice':
      return { source: 'matrix', trusted: true }
    default:
      return undefined
  }
}

type MessageEvent = EventOf<'message'>

function originOfMessage(tree: Tree, { message, taskId, ts }: MessageEvent): Origin {
  switch (message.source) {
    case 'task_message':
      return originOfTask(tree, message.fromTaskId)
    case 'task_complete':
      return originOfTask(tree, message.taskId)
    case 'cross_project': {
      const from = { source: 'project' as const, name: message.fromProject, taskId, id: message.id, at: ts }
      return { source: 'project', name: message.fromProject, trusted: false, from: [from] }
    }
    case 'background_complete':
      return { source: 'repository', trusted: true }
    case 'tree_change':
    case 'compact':
      return { source: 'matrix', trusted: true }
    case 'user':
    case 'clarify_response':
    case 'user_message_forwarded':
      return { source: 'user', trusted: true }
    default:
      return message satisfies never
  }
}

function originOfTask(tree: Tree, taskId: string): Origin {
  const { untrusted: from = [] } = tree.find(taskId) ?? {}
  return { source: 'agent', name: taskId, trusted: from.length === 0, ...(from.length > 0 && { from }) }
}

/** What is not trusted says which event brought it. */
function withSource(origin: Origin, { taskId, ts }: DurableEvent, id: string): Origin {
  if (origin.trusted || origin.from) return origin
  const { source, hosts = [], name = '' } = origin
  const kind = source === 'web' || source === 'project' ? source : 'tool'
  return { ...origin, from: [{ source: kind, name: hosts.join(', ') || name, taskId, id, at: ts }] }
}

function isTrustedHost(trusted: TrustedSources, host: string): boolean {
  return isHostCovered(
    trusted.filter((entry) => !entry.startsWith('@')),
    host,
  )
}
