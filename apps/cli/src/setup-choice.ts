import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { findCheckoutFiles, type SetupChoice, type SetupView } from '@matrix/protocol/http'
import { readInput } from './input-file.ts'
import { ask, isInteractive } from './prompt.ts'
import { colorsFor, printError } from './terminal.ts'

export type SetupFlags = { setup?: string; setupFiles?: string; yes?: boolean }

/** What was chosen; `kept` is the decision that holds already, and `open` that nobody was there to ask. */
export type Chosen = { kind: 'new'; choice: SetupChoice } | { kind: 'kept' } | { kind: 'open' }

/** One question, or what the flags say in advance. What is answered is exactly what was shown. */
export async function chooseSetup(view: SetupView, flags: SetupFlags): Promise<Chosen> {
  if (flags.setup !== undefined)
    return { kind: 'new', choice: withFiles(await choiceOfFlag(view, flags.setup), flags.setupFiles) }
  if (flags.setupFiles !== undefined && view.decision?.script)
    return { kind: 'new', choice: withFiles(scriptChoice(view, view.decision.script), flags.setupFiles) }
  if (flags.yes || !isInteractive()) {
    if (view.decision) return { kind: 'kept' }
    return flags.yes ? { kind: 'new', choice: withFiles(proposed(view), flags.setupFiles) } : { kind: 'open' }
  }
  return view.decision ? askAgain(view) : { kind: 'new', choice: await askAbout(view, view.proposal.script) }
}

/** `auto` takes the proposal, `none` nothing, and anything else is a file with the script. */
export async function choiceOfFlag(view: SetupView, flag: string): Promise<SetupChoice> {
  if (flag === 'auto') return proposed(view)
  if (flag === 'none') return { choice: 'none', seen: view.seen }
  const script = await readInput(flag, 256 * 1024)
  return scriptChoice(view, decode(script, flag))
}

/** The script and what it names of the checkout, which is shown beside it. */
function scriptChoice({ seen }: SetupView, script: string): SetupChoice {
  return { choice: 'script', script, files: findCheckoutFiles(script), seen }
}

/** `none` for no file at all. */
function withFiles(choice: SetupChoice, flag: string | undefined): SetupChoice {
  if (choice.choice === 'none' || flag === undefined) return choice
  const files = flag === 'none' ? [] : flag.split(',').map((path) => path.trim())
  return { ...choice, files }
}

function proposed(view: SetupView): SetupChoice {
  const { script } = view.proposal
  return script === null ? { choice: 'none', seen: view.seen } : scriptChoice(view, script)
}

async function askAgain(view: SetupView): Promise<Chosen> {
  printError(showScript(view, view.decision?.script ?? null, view.decision?.files))
  const isProposed = view.decision?.script === view.proposal.script
  const other = isProposed ? '' : ', [p] the proposal'
  const answer = await ask(`Keep it? [Enter] yes, [e] edit, [n] nothing is needed${other}: `)
  if (answer === 'e') return { kind: 'new', choice: await edited(view, view.decision?.script ?? view.proposal.script) }
  if (answer === 'n') return { kind: 'new', choice: { choice: 'none', seen: view.seen } }
  if (answer === 'p') return { kind: 'new', choice: await askAbout(view, view.proposal.script) }
  return { kind: 'kept' }
}

async function askAbout(view: SetupView, script: string | null): Promise<SetupChoice> {
  printError(showScript(view, script))
  const question =
    script === null
      ? 'Is that right? [Enter] yes, nothing is needed, [e] write a script: '
      : 'Run this? [Enter] yes, [e] edit, [n] nothing is needed: '
  const answer = await ask(question)
  if (answer === 'e') return edited(view, script)
  if (answer === 'n' || script === null) return { choice: 'none', seen: view.seen }
  if (answer === '' || answer === 'y' || answer === 'yes') return scriptChoice(view, script)
  return askAbout(view, script)
}

/** What comes back from the editor is shown and asked about like any other. */
async function edited(view: SetupView, script: string | null): Promise<SetupChoice> {
  const folder = await mkdtemp(join(tmpdir(), 'matrix-setup-'))
  const file = join(folder, 'setup_worktree.sh')
  const editor = process.env.VISUAL || process.env.EDITOR || 'vi'
  try {
    await writeFile(file, script ?? '#!/bin/sh\nset -eux\n\n')
    const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$0"`, file], { stdio: 'inherit' })
    if (status !== 0)
      throw new MatrixError('REQUEST_INVALID', `The editor ${printableLine(editor)} failed.`, {
        hint: 'Set EDITOR, or give the script with --setup <file>.',
        cause: error,
      })
    return await askAbout(view, decode(await readFile(file), 'The script'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new MatrixError('SETUP_INVALID', `${printableLine(name)} is not UTF-8 text.`, { cause })
  }
}

/** The script as it will run, or that there is none, and what is said beside it. */
export function showScript(
  { proposal, hosts, sandbox, changed }: SetupView,
  script: string | null,
  files: readonly string[] = script === null ? [] : findCheckoutFiles(script),
): string {
  const { dim, yellow } = colorsFor(process.stderr)
  const where = sandbox.isActive ? 'in a sandbox' : 'without a sandbox'
  return [
    '',
    ...(changed === null ? [] : [yellow(printableLine(changed))]),
    ...(sandbox.isActive || script === null ? [] : [yellow(printableLine(sandbox.reason ?? ''))]),
    script === null ? 'A new worktree needs no setup.' : `This runs ${where} in every new worktree:`,
    ...(script === null
      ? []
      : printable(script.trimEnd())
          .split('\n')
          .map((line) => `  ${dim('│')} ${line}`)),
    ...(files.length > 0 ? [yellow(`  It reads of your checkout: ${files.map(printableLine).join(', ')}`)] : []),
    ...proposal.notes.map((note) => yellow(`  ${printableLine(note)}`)),
    ...(hosts.length > 0 ? [`  Agents can reach: ${hosts.map(({ host }) => printableLine(host)).join(', ')}`] : []),
  ].join('\n')
}
