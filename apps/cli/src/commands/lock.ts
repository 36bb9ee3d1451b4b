import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import {
  checkLock,
  detectDocument,
  diffLock,
  formatDefinitionFinding,
  formatLock,
  formatRoles,
  type Lock,
  parseDocument,
} from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import {
  type AgentProposal,
  collectLockFiles,
  type LockFiles,
  proposeAgent,
  type ServerCatalog,
  soundLock,
} from '@matrix/tool-manager'
import { lockFilesPathOf, lockPathOf } from '../agent-file.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { writeOutput } from '../output-file.ts'
import { ask, isInteractive } from '../prompt.ts'
import { colorsFor, printError, printJson } from '../terminal.ts'
import { openWorkbench, type Workbench } from '../workbench.ts'

export type LockOptions = {
  out?: string
  yes?: boolean
  agent?: string
  catalog?: string
  keepsState?: string[]
  skip?: boolean
  unsandboxed?: boolean
  json?: boolean
}

/** Resolves, pins, starts and enumerates every server of an agent in any format; a person agrees; the lock is written. */
export async function lock(path: string, options: LockOptions): Promise<ExitCode> {
  const out = options.out ?? lockPathOf(path === '-' ? 'agent.json' : path)
  const bench = await openWorkbench({ bootstrap: true, unsandboxed: options.unsandboxed })
  let proposal: AgentProposal
  let lockFiles: LockFiles
  try {
    proposal = await proposeLock(path, bench, options)
    lockFiles = await collectLockFiles(proposal.lock, bench.store)
  } finally {
    await bench.close()
  }
  if (!options.skip) refuseLeftOut(proposal)
  soundLock(proposal.lock)
  const before = existsSync(out) ? await readLock(out) : undefined
  presentFindings(proposal)
  if (!options.json) present(proposal, before)
  if (!(await isAgreed(options, before !== undefined && isSame(before, proposal.lock)))) return exitCode.findings

  if (Object.keys(lockFiles).length > 0)
    await writeOutput(lockFilesPathOf(out), `${JSON.stringify(lockFiles, null, 1)}\n`, { force: true })
  await writeOutput(out, formatLock(proposal.lock), { force: true })
  if (options.json) printJson({ out, lock: proposal.lock, classes: proposal.classes, findings: proposal.findings })
  else printError(colorsFor(process.stderr).green(`Written to ${printableLine(out)}.`))
  return exitCode.ok
}

async function proposeLock(path: string, bench: Workbench, options: LockOptions): Promise<AgentProposal> {
  const document = await detectDocument(await readInput(path), { fileName: basename(path) })
  if (document.value === undefined)
    throw new MatrixError('DOCUMENT_INVALID', `${path}: ${document.findings[0]?.message ?? 'not readable'}`)
  const { findOwnServer } = await import('@matrix/orchestrator')
  const { agent, catalog, keepsState } = options
  return proposeAgent(document, {
    ...{ ...bench, onStep: printError, agent, keepsState },
    fileName: basename(path),
    folder: path === '-' ? process.cwd() : dirname(resolve(path)),
    ownServer: await findOwnServer(),
    catalog: catalog === undefined ? undefined : await readCatalog(catalog),
  })
}

async function readCatalog(path: string): Promise<ServerCatalog> {
  return JSON.parse((await readInput(path)).toString('utf8')) as ServerCatalog
}

/** Without --skip a lock holds every server; the reason of the first is the one that is told in full. */
function refuseLeftOut({ leftOut }: AgentProposal): void {
  const [first, ...others] = leftOut
  if (!first) return
  const more = others.map(({ alias, error }) => ` ${alias}: ${error.message}`).join('')
  throw new MatrixError(first.error.code, `${first.error.message}${more}`, {
    hint: `${first.error.hint} With --skip, the agent is locked without it.`,
  })
}

async function readLock(path: string): Promise<Lock | undefined> {
  return checkLock(parseDocument(await readInput(path)).value).lock
}

function isSame(before: Lock, after: Lock): boolean {
  return formatLock(before) === formatLock(after)
}

/** On stderr in every output form: --json and --yes do not make the words harmless. */
function presentFindings({ findings }: AgentProposal): void {
  const { red, yellow } = colorsFor(process.stderr)
  for (const finding of findings) {
    const paint = finding.severity === 'high' ? red : yellow
    printError(`${paint('warning')} ${finding.server}/${formatDefinitionFinding(finding)}`)
  }
}

function present({ lock, classes, notes }: AgentProposal, before: Lock | undefined): void {
  const { bold, dim, yellow, red } = colorsFor(process.stderr)
  for (const note of notes) printError(`${yellow('note')} ${printableLine(note)}`)
  if (before) {
    const changes = diffLock(before, lock)
    if (changes.length === 0) printError('Nothing changed since the last lock.')
    for (const { danger, message } of changes)
      printError(`${danger === 'high' ? red(danger) : danger} ${printableLine(message)}`)
  }
  const effects = lock.manifest.allowed_side_effects
  for (const { alias, tool, class: given, reason, isDoubtful } of classes) {
    const roles = lock.servers[alias]?.tools[tool]?.arguments
    const aims = roles && Object.keys(roles).length > 0 ? dim(`  ${formatRoles(roles)}`) : ''
    printError(
      `${bold(given.padEnd(7))} ${alias}/${printableLine(tool)}  ${dim(printableLine(reason))}${isDoubtful && !effects.includes(given) ? yellow('  kept from the agent') : ''}${aims}`,
    )
  }
  for (const [alias, { reason }] of Object.entries(lock.unavailable ?? {}))
    printError(`${yellow('left out')} ${alias}: ${printableLine(reason)}`)
  printError(`${bold(lock.manifest.agent)} may ${bold(effects.join(', ') || 'nothing')}.`)
}

async function isAgreed({ yes }: LockOptions, isUnchanged: boolean): Promise<boolean> {
  if (yes || isUnchanged) return true
  if (!isInteractive())
    throw new MatrixError(
      'AUTHORIZATION_DENIED',
      'Nobody is there to agree to these classes, so nothing was written.',
      {
        hint: 'Read what is proposed above, then run the command again with --yes or at a terminal.',
      },
    )
  return (await ask('Lock this? [y/N] ')) === 'y'
}
