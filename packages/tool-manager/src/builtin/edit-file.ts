import { failed, openRegular, type Workspace } from './workspace.ts'
import { writeWholeFile } from './write-file.ts'

export type Edit = { path: string; oldText: string; newText: string; replaceAll: boolean }

export type EditResult = { path: string; replaced: number; lines: number[] }

const MAX_BYTES = 16 << 20
const MAX_LINES_NAMED = 20

/** Replaces text that stands in a file exactly as given. Which place is meant is never guessed. */
export async function editFile(workspace: Workspace, edit: Edit): Promise<EditResult> {
  const { path, oldText, newText, replaceAll } = edit
  if (oldText === '') throw failed('The text to replace is empty.', { hint: 'Use write_file to write a whole file.' })
  if (oldText === newText) throw failed('The new text is the same as the old one.')

  const text = await readText(workspace, path)
  const places = findPlaces(text, oldText)
  const lines = linesOf(text, places)
  if (places.length === 0)
    throw failed(`Found 0 matches in ${path}.`, {
      hint: 'Give the text exactly as it stands in the file, with its white space, and without line numbers.',
    })
  if (places.length > 1 && !replaceAll)
    throw failed(`Found ${places.length} matches in ${path}, on lines ${nameLines(lines)}.`, {
      hint: 'Give more of the text around the one that is meant, or set replace_all.',
    })

  // Not String.replace: a `$` in the new text would mean something there.
  await writeWholeFile(workspace, path, text.split(oldText).join(newText))
  return { path, replaced: places.length, lines }
}

async function readText(workspace: Workspace, path: string): Promise<string> {
  const { file, size } = await openRegular(workspace, path)
  try {
    if (size > MAX_BYTES) throw failed(`${path} has ${size} bytes; up to ${MAX_BYTES} can be edited.`)
    const bytes = Buffer.alloc(size)
    const { bytesRead } = await file.read(bytes, 0, size, 0)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, bytesRead))
  } catch (error) {
    // Decoding and encoding it again would change bytes that nobody asked to change.
    if (error instanceof TypeError) throw failed(`${path} is not UTF-8 text and cannot be edited.`)
    throw error
  } finally {
    await file.close()
  }
}

function findPlaces(text: string, part: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) places.push(at)
  return places
}

function linesOf(text: string, places: number[]): number[] {
  let line = 1
  let from = 0
  return places.map((place) => {
    for (let at = text.indexOf('\n', from); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) {
      line += 1
      from = at + 1
    }
    return line
  })
}

export function nameLines(lines: readonly number[]): string {
  const named = lines.slice(0, MAX_LINES_NAMED).join(', ')
  return lines.length > MAX_LINES_NAMED ? `${named} and ${lines.length - MAX_LINES_NAMED} more` : named
}
