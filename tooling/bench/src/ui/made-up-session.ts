import { builtinTools, type DurableEvent, loopTools, queueMessage } from '@matrix/protocol'
import type { SessionEvent } from '@matrix/protocol/http'

const beganAt = Date.parse('2026-11-16T06:00:00.000Z')
const turnLength = 8

/** Any event of a session of any length, made from its number alone, so that nothing has to be stored. */
export function makeUpEvent(taskId: string, seq: number): SessionEvent {
  const turn = Math.floor((seq - 1) / turnLength)
  const stamp = { taskId, ts: new Date(beganAt + seq * 700).toISOString() }
  const place = (seq - 1) % turnLength
  return { seq, event: { ...stamp, ...turnEvents(turn, place) } as DurableEvent }
}

type Fields = DurableEvent extends infer Each
  ? Each extends DurableEvent
    ? Omit<Each, 'taskId' | 'ts'>
    : never
  : never

function turnEvents(turn: number, place: number): Fields {
  const callId = `call-${turn}`
  switch (place) {
    case 0:
      return {
        type: 'message',
        message: queueMessage.user({ id: `message-${turn}`, text: `Please look at part ${turn} next.` }),
      }
    case 1:
      return { type: 'messages_consumed', messageIds: [`message-${turn}`] }
    case 2:
      return { type: 'assistant_text', text: prose(turn), ...thinking(turn) }
    case 3:
      return { type: 'tool_call', callId, ...callOf(turn) }
    case 4:
      return {
        type: 'tool_result',
        callId,
        content: [{ type: 'text', text: outputOf(turn) }],
        isError: turn % 11 === 7,
      }
    case 5:
      return {
        type: 'tool_call',
        callId: `${callId}b`,
        name: builtinTools.readFile,
        input: { path: `src/part-${turn}.ts` },
      }
    case 6:
      return {
        type: 'tool_result',
        callId: `${callId}b`,
        content: [{ type: 'text', text: numbered(turn) }],
        isError: false,
      }
    default:
      if (turn % 97 === 96)
        return { type: 'compact_marker', checkpoint: `Parts 1 to ${turn} are done.\n\n${prose(turn)}` }
      return {
        type: 'turn_completed',
        model: 'mock-large',
        stopReason: 'tool_use',
        usage: { inputTokens: 1200 + turn, outputTokens: 240, cacheReadTokens: 9000, cacheWriteTokens: 300 },
        costUsd: 0.0123,
      }
  }
}

function thinking(turn: number): { provider?: unknown } {
  if (turn % 3 !== 0) return {}
  const thought = `Part ${turn} depends on the one before. I should read it first, then run the tests.`
  return { provider: { name: 'anthropic', blocks: [{ type: 'thinking', thinking: thought, signature: 's' }] } }
}

function prose(turn: number): string {
  const list = Array.from({ length: turn % 5 }, (_, index) => `- step **${index + 1}** of part ${turn}`).join('\n')
  const code = turn % 4 === 0 ? `\n\n\`\`\`ts\nexport const part${turn} = () => ${turn}\n\`\`\`` : ''
  return `I will look at part ${turn}. The tests say that \`part${turn}()\` is not called anywhere.\n\n${list}${code}`
}

function callOf(turn: number): { name: string; input: unknown } {
  switch (turn % 5) {
    case 0:
      return { name: builtinTools.bash, input: { command: `pnpm test --filter part-${turn}` } }
    case 1:
      return {
        name: builtinTools.editFile,
        input: {
          path: `src/part-${turn}.ts`,
          old_string: `export function part() {\n  return ${turn}\n}`,
          new_string: `export function part() {\n  // Counted from one.\n  return ${turn + 1}\n}`,
        },
      }
    case 2:
      return { name: builtinTools.search, input: { pattern: `part${turn}\\(`, glob: '*.ts' } }
    case 3:
      return { name: 'mcp__github__create_issue', input: { title: `Part ${turn}`, labels: ['bug', 'later'] } }
    default:
      return turn % 2 === 0
        ? {
            name: builtinTools.writeFile,
            input: { path: `docs/part-${turn}.md`, content: `# Part ${turn}\n\n${prose(turn)}\n` },
          }
        : { name: loopTools.yield, input: {} }
  }
}

function outputOf(turn: number): string {
  if (turn % 5 === 2)
    return `src/a.ts:${turn}:  const x = part${turn}()\nsrc/b.ts:9:  part${turn}()\nsrc/deep/c.ts:40:part${turn}(1)`
  const lines = Array.from({ length: 3 + (turn % 40) }, (_, index) => `ok ${index + 1} - case ${index} of part ${turn}`)
  return `${lines.join('\n')}${turn % 11 === 7 ? '\n[exit code 1]' : ''}`
}

function numbered(turn: number): string {
  return Array.from(
    { length: 12 + (turn % 30) },
    (_, index) => `${String(index + 1).padStart(6)}\tline ${index} of ${turn}`,
  ).join('\n')
}
