/** Output as it comes, in a few messages a second however much of it there is. */
export type LiveReport = {
  /** Whole lines that were printed, and the one that is not complete yet. */
  add(lines: string, line: string): void
  close(): void
}

const REPORT_EVERY_MS = 250
/** A progress bar draws its line again and again; a question waits at the end of one. */
const LINE_EVERY_MS = 2000
const MAX_REPORT = 4096

export function openLiveReport(report: (text: string) => void): LiveReport {
  let waiting = ''
  let line = ''
  let reported = ''
  let reportedAt = 0
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    timer = undefined
    if (waiting !== '') {
      report(waiting)
      waiting = ''
      reportedAt = performance.now()
    } else if (line !== reported && performance.now() - reportedAt >= LINE_EVERY_MS) {
      report(`${line.slice(-MAX_REPORT)}\n`)
      reported = line
      reportedAt = performance.now()
    }
    if (line !== '' && line !== reported) timer = setTimeout(flush, REPORT_EVERY_MS)
  }

  return {
    add(lines, unfinished) {
      waiting = (waiting + lines).slice(-MAX_REPORT)
      line = unfinished
      timer ??= setTimeout(flush, REPORT_EVERY_MS)
    },
    close: () => clearTimeout(timer),
  }
}
