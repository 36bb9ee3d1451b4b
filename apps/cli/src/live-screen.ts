export type LiveScreen = { draw(lines: readonly string[]): void; close(): void }

const hideCursor = '\u001B[?25l'
const showCursor = '\u001B[?25h'
// Terminals that know these hold everything back until the end of the frame; the others ignore them.
const beginFrame = '\u001B[?2026h'
const endFrame = '\u001B[?2026l'
const eraseRest = '\u001B[K'
const eraseBelow = '\u001B[J'

/** Lines that are drawn over themselves, in one write and without clearing first, so that nothing flickers. */
export function openLiveScreen(stream: NodeJS.WriteStream): LiveScreen {
  let drawn: string[] = []
  stream.write(hideCursor)
  // After a resize nobody knows how the old lines were broken: leave them, and start below.
  const forget = () => {
    drawn = []
  }
  stream.on('resize', forget)

  return {
    draw(lines) {
      const fitting = fit(lines, (stream.rows || 24) - 1)
      if (fitting.length === drawn.length && fitting.every((text, index) => text === drawn[index])) return
      const up = drawn.length > 0 ? `\u001B[${drawn.length}A\r` : ''
      const body = fitting.map((text) => `${text}${eraseRest}\n`).join('')
      stream.write(`${beginFrame}${up}${body}${eraseBelow}${endFrame}`)
      drawn = fitting
    },
    close() {
      stream.off('resize', forget)
      stream.write(showCursor)
    },
  }
}

/** What does not fit is counted: lines that scroll away could not be drawn over. */
function fit(lines: readonly string[], rows: number): string[] {
  if (lines.length <= rows) return [...lines]
  return [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines`]
}
