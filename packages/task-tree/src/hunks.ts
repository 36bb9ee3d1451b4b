/** Lines that changed together. Each line starts with ' ', '+' or '-', as in a patch. */
export type Hunk = {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  heading: string
  lines: string[]
}

const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/

/** Splits a patch into its files, in order, and each into its hunks. Reads nothing but what git itself writes. */
export function parsePatch(patch: string): Hunk[][] {
  const files: Hunk[][] = []
  let hunk: Hunk | undefined
  for (const line of patch.split('\n')) {
    if (line.startsWith('diff --git ')) {
      files.push([])
      hunk = undefined
      continue
    }
    const found = header.exec(line)
    // Inside a hunk every line starts with a blank, a sign or a backslash, so no content can look like a header.
    if (found) {
      hunk = openHunk(found)
      files.at(-1)?.push(hunk)
    } else if (hunk && /^[ +\-\\]/.test(line)) hunk.lines.push(line)
  }
  return files
}

function openHunk([, oldStart, oldLines = '1', newStart, newLines = '1', heading = '']: RegExpExecArray): Hunk {
  return {
    oldStart: Number(oldStart),
    oldLines: Number(oldLines),
    newStart: Number(newStart),
    newLines: Number(newLines),
    heading,
    lines: [],
  }
}
