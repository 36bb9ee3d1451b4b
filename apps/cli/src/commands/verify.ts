import { basename } from 'node:path'
import {
  checkManifest,
  detectDocument,
  type Manifest,
  type Mode,
  manifestDigest,
  parseDocument,
  placeProblems,
  type Report,
  verifyDocument,
} from '@matrix/manifest/verify'
import { MatrixError, printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { findInputs, type InputPath, isMarkdownOfOurs, readInput } from '../input-file.ts'
import { countSeverity, type FileReport, isProved } from '../report.ts'
import { print, printError, printJson } from '../terminal.ts'

export type VerifyOptions = {
  offline?: boolean
  strict?: boolean
  bootstrap?: boolean
  checkEnv?: boolean
  manifest?: string
  unsandboxed?: boolean
  json?: boolean
  sarif?: boolean
  helpUri?: string
  github?: boolean
}

const staticOnly = 'Static check only: no server was started, so tool lists and package bytes are not verified.'

const notProved = 'what was not started and looked at is not proved. Pass --offline if a static check is enough.'

/** Checks every file and says what it found in the form that was asked for. */
export async function verify(patterns: string[], options: VerifyOptions): Promise<ExitCode> {
  const inputs = await findInputs(patterns)
  const manifest = options.manifest === undefined ? undefined : await readManifest(options.manifest)
  const reports: FileReport[] = []
  const unreadable: MatrixError[] = []
  let skipped = 0
  for (const input of inputs) {
    // One file that cannot be read must not hide what the others hold.
    const report = await verifyInput(input, options, manifest).catch(asUnreadable)
    if (report instanceof MatrixError) unreadable.push(report)
    else if (report) reports.push(report)
    else skipped += 1
  }
  await present(reports, unreadable, skipped, options)

  if (unreadable.length > 0) return exitCode.usage
  if (reports.some(isRefuted)) return exitCode.findings
  if (reports.length === 0) return exitCode.unverified
  return options.offline || reports.every(isProved) ? exitCode.ok : exitCode.unverified
}

function asUnreadable(error: unknown): MatrixError {
  if (error instanceof MatrixError && error.code.startsWith('DOCUMENT_')) return error
  throw error
}

/** That a server was out of reach refutes nothing, however strict one is. */
function isRefuted({ findings }: FileReport): boolean {
  return findings.some(({ severity, rule }) => severity === 'error' && rule !== 'MX020')
}

async function verifyInput(
  { path, isFound }: InputPath,
  options: VerifyOptions,
  manifest: Manifest | undefined,
): Promise<FileReport | undefined> {
  const bytes = await readInput(path).catch((error: unknown) => {
    if (isFound && error instanceof MatrixError && error.code === 'DOCUMENT_TOO_LARGE') return undefined
    throw error
  })
  if (!bytes || (isFound && (await isNoneOfOurs(path, bytes)))) return undefined
  if (path.endsWith('.mtx')) return verifySkill(path, bytes.toString('utf8'), modeOf(options), manifest)
  const report = await verifyDocument(bytes, {
    mode: modeOf(options),
    fileName: basename(path),
    ...(options.checkEnv && { environment: (name: string) => process.env[name] !== undefined }),
  })
  const found = { file: path === '-' ? 'standard input' : path, text: bytes.toString('utf8'), ...report }
  return options.offline ? found : verifyLive(path, bytes, found, options)
}

/** A directory holds other files too; only what was named must be ours. */
async function isNoneOfOurs(path: string, bytes: Buffer): Promise<boolean> {
  if (path.endsWith('.mtx')) return false
  const { value, format, syntax } = await detectDocument(bytes, { fileName: basename(path) })
  if (format !== undefined) return false
  // Broken JSON may be a manifest; broken TOML is ours only where Codex keeps its settings.
  return value !== undefined || (syntax !== 'JSON' && !path.endsWith('.codex/config.toml') && !isMarkdownOfOurs(path))
}

/** What is wrong already on paper is not started. */
async function verifyLive(path: string, bytes: Buffer, found: FileReport, options: VerifyOptions): Promise<FileReport> {
  const isRunnable = found.format === 'matrix' || found.format === 'lock'
  if (!isRunnable || countSeverity([found], 'error') > 0) return found
  const [{ readAgentFile }, { checkLive }] = await Promise.all([import('../agent-file.ts'), import('../live-check.ts')])
  const { bootstrap, unsandboxed } = options
  const { servers, problems } = await checkLive(await readAgentFile(path, bytes), { bootstrap, unsandboxed })
  const live = placeProblems(problems, parseDocument(bytes).source, modeOf(options))
  return { ...found, servers, findings: [...found.findings, ...live] }
}

async function verifySkill(
  file: string,
  text: string,
  mode: Mode,
  manifest: Manifest | undefined,
): Promise<FileReport> {
  const { parseSkill } = await import('@matrix/manifest')
  const { tools, findings } = parseSkill(text, { mode, ...(manifest && { manifest }) })
  const allowed = tools === 'unconstrained' ? 'any tool of its manifest' : `${tools.size} tool URIs`
  return { file, text, format: 'skill', summary: `Skill, ${allowed}`, value: undefined, findings }
}

/** The manifest that skills are held against must itself be readable, or nothing could be said about them. */
async function readManifest(path: string): Promise<Manifest> {
  const { manifest } = checkManifest(parseDocument(await readInput(path)).value)
  if (manifest) return manifest
  throw new MatrixError('DOCUMENT_UNREADABLE', `${path} is not a manifest that can be read.`, {
    hint: `Run matrix verify --offline ${path} to see why.`,
  })
}

function modeOf({ strict, bootstrap }: VerifyOptions): Mode {
  return strict ? 'strict' : bootstrap ? 'bootstrap' : 'default'
}

async function present(
  reports: FileReport[],
  unreadable: MatrixError[],
  skipped: number,
  options: VerifyOptions,
): Promise<void> {
  const { explainFailure } = await import('../failure.ts')
  for (const error of unreadable) explainFailure(error, { json: false })
  if (options.sarif)
    return printJson((await import('../sarif-report.ts')).formatSarif(reports, { pages: options.helpUri }))
  if (options.json) return printJson(jsonReport(reports, unreadable, skipped, options))
  if (reports.length === 0 && unreadable.length > 0) return

  const closing = closingLine(reports, skipped, options)
  if (!options.github) return print((await import('../text-report.ts')).formatTextReport(reports, closing))
  const annotations = (await import('../github-report.ts')).formatGithubReport(reports)
  if (annotations) print(annotations)
  printError(closing)
}

/** Says no more than was looked at: what runs elsewhere, or has no digest, has no verified bytes. */
function proofOf(reports: FileReport[]): string {
  const servers = reports.flatMap((report) => report.servers ?? [])
  const verified = servers.filter(({ hasVerifiedBytes }) => hasVerifiedBytes).length
  if (verified === servers.length)
    return 'Every server was started from verified bytes and has exactly the declared tools.'
  return `Every server has exactly the declared tools; ${verified} of ${servers.length} were started from verified bytes.`
}

function closingLine(reports: FileReport[], skipped: number, { offline }: VerifyOptions): string {
  const others = skipped > 0 ? ` ${skipped} other ${skipped === 1 ? 'file' : 'files'} passed over.` : ''
  if (reports.length === 0) return `Nothing to verify was found.${others}`
  if (offline) return `${staticOnly}${others}`
  const unproved = reports.filter((report) => !isProved(report)).length
  const proof = unproved === 0 ? proofOf(reports) : `Could not verify ${unproved} of ${reports.length}: ${notProved}`
  return `${proof}${others}`
}

function jsonReport(
  reports: FileReport[],
  unreadable: MatrixError[],
  skipped: number,
  { offline = false }: VerifyOptions,
): object {
  const count = {
    errors: countSeverity(reports, 'error'),
    warnings: countSeverity(reports, 'warning'),
    notes: countSeverity(reports, 'note'),
  }
  return {
    ok: count.errors === 0 && unreadable.length === 0 && reports.length > 0,
    verified: reports.length > 0 && reports.every(isProved) ? 'live' : 'static',
    offline,
    ...count,
    skipped,
    unreadable,
    files: reports.map(({ file, format, summary, value, findings, servers }) => ({
      file: printableLine(file),
      format,
      summary,
      digest: value === undefined ? undefined : digestOf(value),
      findings,
      ...(servers && { servers: servers.map(({ table: _, ...server }) => server) }),
    })),
  }
}

function digestOf(value: Report['value']): string | undefined {
  try {
    return manifestDigest(value)
  } catch {
    return undefined // Nothing that findings do not say already: a value without a canonical form.
  }
}
