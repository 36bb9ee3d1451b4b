import { join, resolve } from 'node:path'
import { digestValue, formatToolUri, type Manifest, type SkillLimit } from '@matrix/manifest'
import { MatrixError, printable } from '@matrix/protocol'
import {
  type ApprovalPort,
  bootTools,
  buildRegistry,
  executeTool,
  openApprovalFile,
  type ToolResult,
} from '@matrix/tool-manager'
import { readAgentFile } from '../agent-file.ts'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode, exitCodeOf } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { ask, isInteractive } from '../prompt.ts'
import { colorsFor, print, printError, printJson } from '../terminal.ts'
import { openWorkbench } from '../workbench.ts'

export type CallOptions = {
  manifest: string
  args?: string
  worktree?: string
  timeout?: string
  yes?: boolean
  bootstrap?: boolean
  unsandboxed?: boolean
  json?: boolean
}

/** One call, by the same path that agents take: resolved, verified, gated, boxed. */
export async function call(name: string, options: CallOptions): Promise<ExitCode> {
  const [agent, input] = [await readAgentFile(options.manifest), await readArguments(options.args)]
  const bench = await openWorkbench({ ...options, lockFiles: agent.lockFiles })
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  process.once('SIGINT', interrupt)
  try {
    const worktree = resolve(options.worktree ?? '.')
    const approve = approvalPort(options.yes ?? false)
    const always = openApprovalFile(approvalFile(worktree))
    const only = onlyTool(agent.manifest, name)
    const tools = bootTools({ ...agent, skills: () => only, pool: bench.pool, worktree, approve, always })
    try {
      const result = await executeTool(tools, { name, input }, { signal: stop.signal, ...timeoutOf(options) })
      return present(result, options)
    } finally {
      await tools.close()
    }
  } finally {
    process.off('SIGINT', interrupt)
    await bench.close()
  }
}

/** A relative path is another file in another folder, so what is approved for always is kept per folder. */
function approvalFile(worktree: string): string {
  const name = digestValue(worktree).replace('sha256:', '').slice(0, 32)
  return join(dataFolder(), 'approvals', `${name}.json`)
}

/** An agent's server has the box of all its tools; for one call the box of that tool is enough. */
function onlyTool(manifest: Manifest, name: string): SkillLimit[] {
  try {
    const tools = new Set([formatToolUri(buildRegistry(manifest).resolve(name).uri)])
    return [{ name, tools, grants: undefined }]
  } catch {
    return [] // The call itself will say what is wrong with the name.
  }
}

async function readArguments(text: string | undefined): Promise<unknown> {
  if (text === undefined) return {}
  const json = text.startsWith('@') || text === '-' ? (await readInput(text.replace(/^@/, ''))).toString('utf8') : text
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new MatrixError('DOCUMENT_UNREADABLE', `The arguments are not JSON: ${(cause as Error).message}`, {
      hint: `Write --args '{"path": "README.md"}', or --args @file.json, or --args - for standard input.`,
      cause,
    })
  }
}

function timeoutOf({ timeout }: CallOptions): { timeoutMs?: number } {
  if (timeout === undefined) return {}
  const timeoutMs = Number(timeout) * 1000
  if (Number.isFinite(timeoutMs) && timeoutMs > 0) return { timeoutMs }
  throw new MatrixError('DOCUMENT_UNREADABLE', `"${timeout}" is no number of seconds.`)
}

function approvalPort(yes: boolean): ApprovalPort | undefined {
  if (!yes && !isInteractive()) return undefined
  return async ({ id, inputDigest, uri, input, side_effect_class }) => {
    const shown = printable(JSON.stringify(input, null, 2))
    const answer = yes
      ? 'y'
      : await ask(
          `${uri} (${side_effect_class})\n${shown}\nRun it? [y] once, [always] these arguments in this folder, [N] no: `,
        )
    if (answer !== 'y' && answer !== 'always') return { decision: 'deny' }
    return { decision: 'allow', scope: answer === 'always' ? 'always' : 'once', id, inputDigest }
  }
}

function present({ content, structured, isError, error }: ToolResult, { json }: CallOptions): ExitCode {
  const outcome = !isError ? exitCode.ok : error ? exitCodeOf(error) : exitCode.toolError
  if (json) {
    printJson({ isError, content, ...(structured !== undefined && { structured }), ...(error && { error }) })
    return outcome
  }
  if (error) {
    const { red, dim } = colorsFor(process.stderr)
    printError(`${red('error:')} ${printable(error.message)}\n${dim(`  ${printable(error.hint)}`)}`)
    return outcome
  }
  for (const part of content)
    print(part.type === 'text' ? printable(part.text) : `[${part.mediaType}, ${part.data.length} characters of base64]`)
  return outcome
}
