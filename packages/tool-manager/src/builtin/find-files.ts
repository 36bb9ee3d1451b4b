import { type RipgrepResult, runRipgrep } from './ripgrep.ts'
import { failed, kindOf, resolveExisting, showPath, type Workspace } from './workspace.ts'

export type Tree = { workspace: Workspace; ripgrep: string | undefined }

export type ListRequest = {
  pattern?: string | undefined
  path?: string | undefined
  hidden?: boolean | undefined
  ignored?: boolean | undefined
  limit?: number | undefined
  signal?: AbortSignal | undefined
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
  return run(tree, ['--files', '--null', ...scopeOf(request), '--', place.target], {
    separator: '\0',
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
    separator: '\n',
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
  ]
}

type RunOptions = Pick<Parameters<typeof runRipgrep>[0], 'separator' | 'limit' | 'timeoutMs' | 'signal'>

async function run({ workspace, ripgrep }: Tree, args: string[], options: RunOptions): Promise<RipgrepResult> {
  if (!ripgrep) throw failed('ripgrep is not installed.', { hint: 'Install it with: sudo apt-get install -y ripgrep' })
  const result = await runRipgrep({ ripgrep, cwd: workspace.root, args, ...options })
  return { ...result, found: result.found.map((line) => line.replace(/^\.\//, '')) }
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
