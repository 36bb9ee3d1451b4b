import { type Event, printable, printableLine } from '@matrix/protocol'
import { displayAnyEvent, type ToolCall } from '@matrix/protocol/display'
import { formatDisplay } from './event-lines.ts'
import { shortId } from './short-id.ts'
import { colorsFor, print, terminalWidth } from './terminal.ts'
import { fitWidth, padWidth } from './text-width.ts'

export type TranscriptOptions = {
  verbose: boolean
  /** Puts the title of its task before every line. */
  isMany: boolean
  titleOf: (taskId: string) => string | undefined
}

export type Transcript = {
  /** An event of a session, as it stands there. */
  event(taskId: string, event: Event | { type: string }): void
  /** Something that is only of the moment. */
  live(taskId: string, event: Event): void
  /** A line that is no event. */
  note(taskId: string, text: string): void
  close(): void
}

const TITLE_WIDTH = 18

/** Prints conversations as they go on. Text is shown while it is written, where one agent has the terminal to itself. */
export function openTranscript({ verbose, isMany, titleOf }: TranscriptOptions): Transcript {
  const colors = colorsFor(process.stdout)
  const calls = new Map<string, ToolCall>()
  const isStreaming = !isMany && Boolean(process.stdout.isTTY)
  let streamed = ''

  const write = (taskId: string, lines: readonly string[]) => {
    const prefix = isMany ? `${colors.dim(`${padWidth(fitWidth(nameOf(taskId), TITLE_WIDTH), TITLE_WIDTH)} │`)} ` : ''
    for (const text of lines) print(`${prefix}${text}`)
  }
  const nameOf = (taskId: string) => printableLine(titleOf(taskId) ?? shortId(taskId))
  const width = () => terminalWidth() - (isMany ? TITLE_WIDTH + 3 : 0)

  const endStream = () => {
    if (streamed !== '') process.stdout.write('\n')
    streamed = ''
  }

  const printOutput = (text: string) => {
    endStream()
    for (const line of text.trimEnd().split('\n'))
      print(colors.dim(`  │ ${fitWidth(printableLine(line), width() - 4)}`))
  }

  return {
    event(taskId, event) {
      const known = event as Event
      if (known.type === 'tool_call') calls.set(known.callId, known)
      const call = known.type === 'tool_result' ? calls.get(known.callId) : undefined
      if (known.type === 'tool_result') calls.delete(known.callId)
      const isShownAlready =
        known.type === 'assistant_text' && streamed.trim() !== '' && streamed.trim() === known.text.trim()
      endStream()
      if (isShownAlready) return
      const at = 'ts' in known ? { at: known.ts } : {}
      write(
        taskId,
        formatDisplay(displayAnyEvent(event, { call, titleOf }), { width: width(), colors, verbose, ...at }),
      )
    },
    live(_taskId, event) {
      if (event.type === 'tool_output' && (isStreaming || verbose)) printOutput(event.text)
      if (event.type !== 'text_delta' || !isStreaming) return
      if (streamed === '') process.stdout.write(`${colors.magenta(colors.bold('Agent'))}\n  `)
      streamed += event.text
      process.stdout.write(printable(event.text).replaceAll('\n', '\n  '))
    },
    note(taskId, text) {
      endStream()
      write(taskId, [colors.dim(`· ${text}`)])
    },
    close: endStream,
  }
}
