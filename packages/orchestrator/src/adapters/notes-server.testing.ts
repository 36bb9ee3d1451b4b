/** The source of an MCP server with one tool, described by these words or by what a file beside it says when it starts. */
export function notesServer({ words, wordsFile }: { words?: string; wordsFile?: string }): string {
  const description = wordsFile
    ? `readFileSync(new URL(${JSON.stringify(wordsFile)}, import.meta.url), 'utf8')`
    : JSON.stringify(words)
  return `
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const annotations = { readOnlyHint: true, openWorldHint: false }
const tool = { name: 'read_note', description: ${description}, inputSchema: { type: 'object' }, annotations }
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'milk' }] }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: 'no such method' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n')
})
`
}
