import { type FoldedEvent, readsInput } from '@matrix/protocol/session'
import { STARTED } from './earlier-event.ts'
import { findSum, parseLine, statedSeq } from './line.ts'
import type { LineBatch } from './session-reader.ts'
import type { FileSpan } from './span.ts'

/** As much of an event as its session's summary needs. What is long, such as what a tool answered, is left out. */
export type EventHead = FoldedEvent & { ts: string }

/** The heads of lines in order, and where the last of them ends. */
export type HeadBatch = { events: EventHead[]; seq: number | undefined; sum: string | undefined; end: number }

// The beginning of a line as the writer makes it. Anything that is not plain ASCII, or in another order, is parsed instead.
const plain = '"([\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*)"'
const beginning = new RegExp(
  `^\\{"seq":\\d+,(?:"more":\\d+,)?"event":\\{"type":"(assistant_text|tool_call|tool_result)",` +
    `"taskId":${plain},"ts":${plain},(?:"callId":${plain},(?:"name":${plain},)?)?`,
)
const BEGINNING_BYTES = 512
// Names a background command, wherever it stands in a call or a result; inside of a string its quotes would be escaped.
const background = Buffer.from('"background":')

/** The heads of the lines of a span: four lines in five are not parsed, which is most of what reading them costs. */
export function parseHeads({ bytes, start, end, offset }: FileSpan): HeadBatch {
  const events: EventHead[] = []
  let seq: number | undefined
  let sum: string | undefined
  for (let at = start; at < end; ) {
    const newline = bytes.indexOf(10, at)
    const found = findHead(bytes.toString('latin1', at, Math.min(newline, at + BEGINNING_BYTES)))
    const isShort =
      found && (found.event.type === 'assistant_text' || !bytes.subarray(at, newline).includes(background))
    const head = isShort ? found : parseLine(bytes.toString('utf8', at, newline))
    if (!head) break
    if (head.event) events.push(head.event)
    if (newline + 1 >= end) {
      const line = bytes.subarray(at, newline)
      seq = statedSeq(line)
      sum = findSum(line)
    }
    at = newline + 1
  }
  return { events, seq, sum, end: offset + end - start }
}

/** The same of lines that have been parsed already. */
export function headsOf({ lines, seq, end }: LineBatch): HeadBatch {
  return { events: lines.flatMap(({ event }) => event ?? []), seq, sum: lines.at(-1)?.sum, end }
}

function findHead(text: string): { event: EventHead } | undefined {
  const [, type, , ts = '', callId, name] = beginning.exec(text) ?? []
  if (type === 'assistant_text') return { event: { type, ts } }
  if (type === 'tool_result' && callId !== undefined && !text.includes(`"text":"${STARTED}`))
    return { event: { type, ts, callId } }
  if (type === 'tool_call' && callId !== undefined && name !== undefined && !readsInput(name))
    return { event: { type, ts, callId, name } }
  return undefined
}
