import { resolve } from 'node:path'
import type { IsDenied } from './denied-path.ts'
import { type RipgrepResult, runRipgrep } from './ripgrep.ts'
import { failed, kindOf, resolveExisting, showPath, type Workspace } from './workspace.ts'

export type Tree = { workspace: Workspace; ripgrep: string | undefined }

export type ListRequest = {
  pattern?: string | undefined
  path?: string | undefined
  hidden?: boolean | undefined
  ignored?: boolean | undefined
  offset?: number | undefined
  limit?: number | undefined
  signal?: AbortSignal | undefined
  isDenied: IsDenied
}

export type SearchRequest = ListRequest & {
  expression: string
  mode: 'content' | 'files' | 'count'
  literal?: boolean | undefined
  ignoreCase?: boolean | undefined
  multiline?: boolean | undefined
  context?: number | undefined
  timeoutMs?: number | undefined
}

const TIMEOUT_MS = 20_000
const MAX_LINE_LENGTH = 500

/** The files of a tree whose paths match, in the order of their paths. */
export async function listFiles(tree: Tree, request: ListRequest): Promise<RipgrepResult> {
  const place = await findPlace(tree, request.path)
  if (!place.isFolder) throw failed(`${request.path} is a file.`, { hint: 'Name a folder.' })
  return run(tree, ['--files', ...scopeOf(request), '--', place.target], {
    isDenied: request.isDenied,
    separator: '\0',
    skip: request.offset ?? 0,
    limit: request.limit ?? 500,
    timeoutMs: TIMEOUT_MS,
    signal: request.signal,
  })
}

/** The lines, files or counts of what matches an expression. */
export async function searchFiles(tree: Tree, request: SearchRequest): Promise<RipgrepResult> {
  const place = await findPlace(tree, request.path)
  const flags = [
    ...modeFlags(request),
    ...(request.literal ? ['--fixed-strings'] : []),
    ...(request.ignoreCase ? ['--ignore-case'] : []),
    ...(request.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...['--with-filename', '--max-filesize=16M', `--regexp=${request.expression}`],
  ]
  return run(tree, [...flags, ...scopeOf(request), '--', place.target], {
    isDenied: request.isDenied,
    separator: request.mode === 'files' ? '\0' : '\n',
    skip: request.offset ?? 0,
    limit: request.limit ?? 200,
    timeoutMs: request.timeoutMs ?? TIMEOUT_MS,
    signal: request.signal,
  })
}

function modeFlags({ mode, context = 0 }: SearchRequest): string[] {
  if (mode === 'files') return ['--files-with-matches']
  if (mode === 'count') return ['--count-matches']
  const lines = ['--line-number', '--no-heading', `--max-columns=${MAX_LINE_LENGTH}`, '--max-columns-preview']
  return context > 0 ? [...lines, `--context=${context}`] : lines
}

function scopeOf({ pattern, hidden, ignored }: ListRequest): string[] {
  return [
    ...(hidden ? ['--hidden'] : []),
    ...(ignored ? ['--no-ignore'] : []),
    ...(pattern ? [`--glob=${pattern}`] : []),
    '--glob=!.git',
    // Only so can a name be told from what follows it.
    '--null',
  ]
}

type RunOptions = Pick<Parameters<typeof runRipgrep>[0], 'separator' | 'skip' | 'limit' | 'timeoutMs' | 'signal'> & {
  isDenied: IsDenied
}

async function run(
  { workspace, ripgrep }: Tree,
  args: string[],
  { isDenied, ...options }: RunOptions,
): Promise<RipgrepResult> {
  if (!ripgrep) throw failed('ripgrep is not installed.', { hint: 'Install it with: sudo apt-get install -y ripgrep' })
  const isWanted = (line: string) => line === CONTEXT_BREAK || !isDenied(resolve(workspace.root, splitName(line).name))
  const result = await runRipgrep({ ripgrep, cwd: workspace.root, args, isWanted, ...options })
  return { ...result, found: result.found.filter(isNeeded).map(formatLine) }
}

const CONTEXT_BREAK = '--'

/** A break stands between two results; what was left out may leave it without one of them. */
function isNeeded(line: string, index: number, lines: readonly string[]): boolean {
  return line !== CONTEXT_BREAK || (index > 0 && index < lines.length - 1 && lines[index - 1] !== CONTEXT_BREAK)
}

function splitName(line: string): { name: string; rest: string | undefined } {
  const end = line.indexOf('\0')
  return end === -1 ? { name: line, rest: undefined } : { name: line.slice(0, end), rest: line.slice(end + 1) }
}

/** As ripgrep writes it without NUL: a colon before what matches, a hyphen before what stands around it. */
function formatLine(line: string): string {
  const { name, rest } = splitName(line)
  const shown = name.replace(/^\.\//, '')
  return rest === undefined ? shown : `${shown}${/^\d+-/.test(rest) ? '-' : ':'}${rest}`
}

/** Where to look, relative to the workspace, so that results are too. */
async function findPlace({ workspace }: Tree, path = '.'): Promise<{ target: string; isFolder: boolean }> {
  const real = await resolveExisting(workspace, path)
  const kind = await kindOf(real)
  // Ripgrep would read from a pipe for as long as somebody might write to it.
  if (kind === 'other') throw failed(`${path} is not a regular file.`)
  const shown = showPath(workspace, real)
  return { target: shown.startsWith('/') ? shown : `./${shown === '.' ? '' : shown}`, isFolder: kind === 'folder' }
}
