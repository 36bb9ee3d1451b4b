import { readFile, realpath, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { isLiteralCredential, type Policy } from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import { hookRoot } from './hook-files.ts'
import { isWithin } from './sandbox/mount.ts'

const MAX_BYTES = 64_000

/** Where programs keep agents and what belongs to them; other dot files are settings and secrets. */
const agentFolders = new Set(
  ['mxd', 'claude', 'kiro', 'amazonq', 'codex', 'github', 'agents', 'opencode'].map((name) => `.${name}`),
)

/** The policy with the text of a prompt that is kept in a file of its own, which a lock holds, and where it was, for the user. */
export async function withPrompt(policy: Policy, folder: string): Promise<{ policy: Policy; notes: string[] }> {
  const { prompt } = policy
  if (!prompt?.startsWith('file://')) return { policy, notes: [] }
  const named = decodeURIComponent(prompt.slice('file://'.length))
  const shown = printableLine(named)
  const file = await realpath(resolve(folder, named)).catch(() => undefined)
  const stats = file === undefined ? undefined : await stat(file)
  if (!file || !stats?.isFile()) throw refused(`The prompt of the agent, ${shown}, does not exist.`)
  const root = await realpath(hookRoot(folder))
  // What an agent file can name elsewhere on the machine would go to the model unread.
  if (!isWithin(file, root))
    throw refused(`The prompt of the agent, ${shown}, lies outside of the project of its file.`)
  if (relative(root, file).split(sep).some(isPrivate))
    throw refused(`The prompt of the agent, ${shown}, is a hidden file, as settings and secrets are.`)
  if (stats.size > MAX_BYTES) throw refused(`The prompt of the agent has ${stats.size} bytes; ${MAX_BYTES} fit.`)
  const text = await readFile(file, 'utf8')
  if (text.split('\n').some(holdsCredential))
    throw refused(`The prompt of the agent, ${shown}, holds a literal credential.`)
  return { policy: { ...policy, prompt: text }, notes: [`The prompt is the text of ${shown}.`] }
}

function isPrivate(name: string): boolean {
  return name.startsWith('.') && !agentFolders.has(name)
}

function holdsCredential(line: string): boolean {
  const [, name = '', value = ''] = /^\s*(?:export\s+)?([A-Z_][A-Z0-9_]*)=(.*)$/.exec(line) ?? []
  return isLiteralCredential('', line) || isLiteralCredential(name, value.trim())
}

function refused(message: string): MatrixError {
  return new MatrixError('DOCUMENT_INVALID', message, { hint: 'Put the prompt beside the agent file, or into it.' })
}
