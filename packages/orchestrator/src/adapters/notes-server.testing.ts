import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('../../../tool-manager/fixtures/notes-server.mjs', import.meta.url), 'utf8')

/** The source of an MCP server with one tool, described by these words; without them, by `words.txt` beside it when it starts. */
export function notesServer(words?: string): string {
  return words === undefined ? source : source.replace(/readFileSync\(.*\)$/m, JSON.stringify(words))
}
