import { readFile, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Policy } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { hookRoot } from './hook-files.ts'
import { isWithin } from './sandbox/mount.ts'

const MAX_BYTES = 64_000

/** The policy with the text of a prompt that is kept in a file of its own: a lock holds the words, not where they were. */
export async function withPrompt(policy: Policy, folder: string): Promise<Policy> {
  const { prompt } = policy
  if (!prompt?.startsWith('file://')) return policy
  const named = decodeURIComponent(prompt.slice('file://'.length))
  const file = await realpath(resolve(folder, named)).catch(() => undefined)
  if (!file || !(await stat(file)).isFile()) throw refused(`The prompt of the agent, ${named}, does not exist.`)
  // What an agent file can name elsewhere on the machine would go to the model unread.
  if (!isWithin(file, await realpath(hookRoot(folder))))
    throw refused(`The prompt of the agent, ${named}, lies outside of the project of its file.`)
  const text = await readFile(file, 'utf8')
  if (text.length > MAX_BYTES) throw refused(`The prompt of the agent has ${text.length} characters; ${MAX_BYTES} fit.`)
  return { ...policy, prompt: text }
}

function refused(message: string): MatrixError {
  return new MatrixError('DOCUMENT_INVALID', message, { hint: 'Put the prompt beside the agent file, or into it.' })
}
