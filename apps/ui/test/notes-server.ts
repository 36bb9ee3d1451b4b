import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conversation, Turn } from '@matrix/mock-provider'
import type { OwnServer, World } from './world.ts'

const look: Turn = { toolCalls: [{ name: 'mcp__notes__read_note' }] }
/** Somebody who looks into the notes whenever asked to. */
export const noteReader: Conversation = {
  name: 'reader',
  match: 'Read the note',
  repeats: true,
  turns: [look, { text: 'There is none.' }, look, { text: 'It says milk.' }, look, { text: 'Again there is none.' }],
}

const source = new URL('../../../packages/tool-manager/fixtures/notes-server.mjs', import.meta.url)

/** It describes its tool by what stands in a file beside it, so that it is another one each time that file is. */
export const notes: OwnServer = {
  alias: 'notes',
  tools: ['read_note'],
  files: { 'words.txt': 'Reads a note.', 'server.mjs': readFileSync(source, 'utf8') },
}

/** Makes it another one from its next start on. */
export async function describeNotes({ home }: World, words: string): Promise<void> {
  await writeFile(join(home, 'notes/words.txt'), words)
}
