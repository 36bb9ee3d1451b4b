import { type Event, errors } from '@matrix/protocol'
import type { WantedCompaction } from './conversation.ts'
import type { ProviderResponse } from './provider-adapter.ts'
import { type Run, record, takeRoute } from './run.ts'
import { configOf } from './start.ts'
import { apiCall, takeTurn } from './turn.ts'
import { takeMessages } from './waiting.ts'

/** What stays free for the summary and for being wrong about sizes. */
export const COMPACT_BUFFER_RATIO = 0.17
const countingMargin = 16_000

export const checkpointSections = [
  'User Requests',
  'Current Phase',
  'Completed Work',
  'Task Tree State',
  'Key Insights & Rejected Approaches',
  'Key Context',
  'Pending Work',
] as const

/** Replaces a conversation that has grown too long, or whose end was asked for, by a summary of itself. */
export async function* compactWhenFull(run: Run): AsyncGenerator<Event, void> {
  const wanted = run.compact ?? (await wantCompaction(run))
  if (!wanted) return
  run.compact = undefined
  const tokens = run.conversation.contextTokens()
  yield record(run, { type: 'compact_started', reason: wanted.reason, tokens, ...(wanted.idle && { idle: true }) })

  const checkpoint = readCheckpoint(wanted.answer ?? '').checkpoint ?? (yield* writeCheckpoint(run, wanted))
  if (run.exit || checkpoint === undefined) return
  const requests = [...run.conversation.requests()]
  const memory = await run.readMemory()
  // One batch: the marker, and all that has to be known after it.
  yield record(run, { type: 'compact_marker', checkpoint })
  // Nothing is left in the provider's cache, so the session takes the configuration of now.
  await takeRoute(run, (run.isElsewhere ? undefined : run.routes[0]) ?? run.route, run.offered)
  yield record(run, configOf(run.route, run.offered))
  const text = buildCompactedContext({ memory, checkpoint, requests, limit: ledgerLimit(run) })
  yield record(run, { type: 'compacted_resume', text, requests, ...(wanted.idle && { idle: true }) })
  run.redeliver = true
  // What arrived while the summary was written is the first thing to be heard after it.
  yield* takeMessages(run)
  if (run.conversation.contextTokens() > threshold(run))
    yield failed(run, 'What is left is still too long for the model.')
}

function threshold(run: Run): number {
  return run.contextWindow * (1 - COMPACT_BUFFER_RATIO)
}

async function wantCompaction(run: Run): Promise<Run['compact']> {
  return (await isFull(run)) ? { reason: 'threshold', idle: false } : undefined
}

/** Counts exactly only where the estimate is close enough for it to matter. */
async function isFull(run: Run): Promise<boolean> {
  const { adapter } = run.route
  const estimate = run.conversation.contextTokens()
  if (!run.conversation.awaitsModel() || estimate < threshold(run) - countingMargin) return false
  if (!adapter.supportsTokenCounting) return estimate > threshold(run)
  const exact = await adapter.countTokens(apiCall(run, 1)).catch(() => estimate)
  return exact > threshold(run)
}

/** Asks for the summary, unless a crash came between question and answer, and once more for what is missing in it. */
async function* writeCheckpoint(
  run: Run,
  { isAsked = false }: WantedCompaction,
): AsyncGenerator<Event, string | undefined> {
  let text = summaryRequest
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    if (attempt > 1 || !isAsked) yield record(run, { type: 'summarization_request', text })
    const answer = yield* takeTurn(run, { quiet: true })
    if (!answer) return undefined
    yield* declineCalls(run, answer)
    const { checkpoint, problem } = readCheckpoint(answer.text)
    if (checkpoint !== undefined) return checkpoint
    text = `Your summary cannot be used: ${problem}. Write the whole of it again, with all seven sections inside <summary> tags, and call no tool.`
  }
  yield failed(run, 'The model wrote no usable summary, twice.')
  return undefined
}

/** The checkpoint in an answer, if it can be used, and otherwise what is wrong with it. */
function readCheckpoint(text: string): { checkpoint?: string; problem?: string } {
  const checkpoint = extractCheckpoint(text)
  if (checkpoint === undefined) return { problem: 'there is no <summary>…</summary> in it' }
  const missing = missingSections(checkpoint)
  return missing.length > 0 ? { problem: `these sections are missing: ${missing.join(', ')}` } : { checkpoint }
}

function* declineCalls(run: Run, { calls }: ProviderResponse): Generator<Event> {
  const content = [{ type: 'text' as const, text: 'Not run: the conversation is being summarised.' }]
  for (const { callId } of calls) yield record(run, { type: 'tool_result', callId, content, isError: true })
}

function failed(run: Run, message: string): Event {
  const code = 'COMPACTION_FAILED'
  return record(run, {
    type: 'error',
    code,
    message: `The conversation could not be compacted. ${message}`,
    hint: errors[code].hint,
  })
}

/** What stands between the last pair of summary tags. */
export function extractCheckpoint(text: string): string | undefined {
  const end = text.lastIndexOf('</summary>')
  const start = text.lastIndexOf('<summary>', end)
  if (end < 0 || start < 0) return undefined
  return text.slice(start + '<summary>'.length, end).trim() || undefined
}

export function missingSections(checkpoint: string | undefined): string[] {
  const lower = (checkpoint ?? '').toLowerCase()
  return checkpointSections.filter((section) => !lower.includes(section.toLowerCase()))
}

/** How a compacted conversation begins: what is true now, what was done, and what the user asked for word by word. */
export function buildCompactedContext({
  memory,
  checkpoint,
  requests,
  limit = Number.POSITIVE_INFINITY,
}: {
  memory: string
  checkpoint: string
  requests: readonly string[]
  limit?: number
}): string {
  return [
    memory.trim(),
    `# Checkpoint\nThe conversation so far was replaced by this summary, which you wrote.\n\n${checkpoint}`,
    requests.length > 0
      ? `# What the user asked for, word by word, oldest first\n${formatLedger(requests, limit)}`
      : '',
    'Go on from here with the pending work. Do not repeat what is completed.',
  ]
    .filter((section) => section !== '')
    .join('\n\n')
}

/** The newest requests count most; what does not fit is left out, and it is said so. */
function formatLedger(requests: readonly string[], limit: number): string {
  const lines = requests.map((request, index) => `${index + 1}. ${shorten(request, limit)}`)
  let kept = lines.length
  for (let size = 0; kept > 0; kept -= 1) {
    size += lines[kept - 1]?.length ?? 0
    if (size > limit && kept < lines.length) break
  }
  const note = kept > 0 ? [`(${kept} earlier requests are only in the summary.)`] : []
  return [...note, ...lines.slice(kept)].join('\n')
}

function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length - limit} more characters)`
}

const charactersPerToken = 4

function ledgerLimit(run: Run): number {
  return Math.floor(run.contextWindow * 0.1 * charactersPerToken)
}

const summaryRequest = `The conversation has to be compacted: everything above will be replaced by a summary that you write now. Whatever is not in it is forgotten. Call no tool. Write the summary inside <summary> and </summary>, with these seven sections as headings:

## User Requests
Every request of the user as a chronological timeline, with what became of it.
## Current Phase
What you are doing right now, and why.
## Completed Work
What is done, with files, commits and branches by name.
## Task Tree State
Each task by id: its status, and what you expect of it.
## Key Insights & Rejected Approaches
What was learnt, what was tried and did not work, and why.
## Key Context
Decisions, constraints, names, commands and paths that the work needs.
## Pending Work
What is left to do, in order, beginning with the very next step.`
