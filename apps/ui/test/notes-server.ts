import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conversation, Turn } from '@matrix/mock-provider'
import type { OwnServer, World } from './world.ts'

const look: Turn = { toolCalls: [{ name: 'mcp__notes__read_note' }] }
/** Somebody who looks into the notes whenever asked to. */
export const noteReader: Conversation = {
  name: 'reader',
  match: 'Read the note',
  turns: [look, { text: 'There is none.' }, look, { text: 'It says milk.' }, look, { text: 'Again there is none.' }],
}

/** It describes its tool by what stands in a file beside it, so that it is another one each time that file is. */
export const notes: OwnServer = {
  alias: 'notes',
  tools: ['read_note'],
  files: {
    'words.txt': 'Reads a note.',
    'server.mjs': `
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const description = readFileSync(new URL('words.txt', import.meta.url), 'utf8')
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'read_note', description, inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'milk' }] }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: 'no such method' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n')
})
`,
  },
}

/** Makes it another one from its next start on. */
export async function describeNotes({ home }: World, words: string): Promise<void> {
  await writeFile(join(home, 'notes/words.txt'), words)
}
