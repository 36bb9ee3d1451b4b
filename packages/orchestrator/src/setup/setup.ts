import { digestValue } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { findCheckoutFiles, type SetupChoice, type SetupView } from '@matrix/protocol/http'
import { askForApproval } from '../approvals.ts'
import type { ProjectContext } from '../project-context.ts'
import { isoNow } from '../world.ts'
import { holdsFor, type SetupDecision, undecided } from './setup-decision.ts'
import { detectSetup } from './setup-proposal.ts'
import { digestOf, isBlank, readScript } from './setup-script.ts'

const PATIENCE_MS = 365 * 24 * 3600 * 1000

/** What a project needs, as far as its files tell, and what was decided about it. */
export async function readSetup({ setup }: ProjectContext): Promise<SetupView> {
  const [decision, own, files, hosts] = await Promise.all([
    setup.decisions.read(),
    setup.findScript(),
    setup.files(),
    setup.proposeHosts(),
  ])
  const { languages, found, testCommand, script: detected, notes } = await detectSetup(files)
  const isOwn = own?.text !== undefined
  const text = own?.text ?? detected
  const script = text === null || isBlank(text) ? null : text
  const current = decision && holdsFor(decision, own?.sha256 ?? null) ? decision : undefined
  return {
    decision: current ? viewDecision(current) : null,
    changed: decision && !current ? `${own?.path} is another script than when the setup was decided.` : null,
    proposal: {
      choice: script === null ? 'none' : 'script',
      script,
      files: script === null ? [] : findCheckoutFiles(script),
      source: isOwn ? 'repository' : 'detected',
      notes: [...(own?.notes ?? []), ...(isOwn ? [] : notes)],
    },
    seen: own?.sha256 ?? null,
    detected: { languages, found, testCommand },
    hosts,
    instructions: files.paths.filter((path) => /^(AGENTS\.md|CLAUDE\.md|\.mxd\/memory\.md)$/.test(path)),
    sandbox: setup.sandbox(),
  }
}

/** The decision that holds now; undefined where the user has to be asked. */
export async function findDecision({ setup }: ProjectContext): Promise<SetupDecision | undefined> {
  const [decision, own] = await Promise.all([setup.decisions.read(), setup.findScript()])
  return decision && holdsFor(decision, own?.sha256 ?? null) ? decision : undefined
}

/** Keeps what the user chose, closes the question in the inbox, and answers with what holds from now on. */
export async function keepChoice(ctx: ProjectContext, choice: SetupChoice): Promise<void> {
  const seen = choice.seen === undefined ? ((await ctx.setup.findScript())?.sha256 ?? null) : choice.seen
  await ctx.setup.decisions.keep(decisionOf(choice, seen, isoNow(ctx.world)))
  ctx.setupQuestion.settled.abort()
  ctx.setupDecided()
}

export function decisionOf(choice: SetupChoice, seen: string | null, decidedAt: string): SetupDecision {
  if (choice.choice === 'none') return { choice: 'none', seen, decidedAt }
  const { text } = readScript(choice.script, 'The script')
  if (isBlank(text))
    throw new MatrixError('SETUP_INVALID', 'The script has no command', { hint: 'Decide that nothing is needed.' })
  return { choice: 'script', script: text, sha256: digestOf(text), files: choice.files ?? [], seen, decidedAt }
}

/** The decision that holds; where there is none, the user is asked. An agent, which has a signal, waits for the answer. */
export async function awaitDecision(ctx: ProjectContext, signal?: AbortSignal): Promise<SetupDecision> {
  for (;;) {
    signal?.throwIfAborted()
    const decision = await findDecision(ctx)
    if (decision) return decision
    if (!signal) throw undecided('The setup of this project is not decided')
    await orAborted(askForSetup(ctx), signal)
    if (ctx.isClosing) throw undecided('The setup of this project is not decided')
  }
}

/** Puts the proposal into the inbox, once, and waits until the setup is decided. Throws when the proposal is denied. */
export function askForSetup(ctx: ProjectContext): Promise<void> {
  const { setupQuestion } = ctx
  setupQuestion.asking ??= ask(ctx).finally(() => {
    setupQuestion.asking = undefined
  })
  return setupQuestion.asking
}

/** A script that changed while the user looked at another one is asked about in turn. */
async function ask(ctx: ProjectContext): Promise<void> {
  do await askOnce(ctx)
  while (!ctx.isClosing && !(await findDecision(ctx)))
}

async function askOnce(ctx: ProjectContext): Promise<void> {
  const settled = new AbortController()
  ctx.setupQuestion.settled = settled
  const view = await readSetup(ctx)
  const { choice, script, files, notes, source } = view.proposal
  const input = script === null ? { setup: 'nothing is needed', notes } : { script, files, notes }
  const inputDigest = digestValue({ choice, script, files, seen: view.seen })
  const answer = await askForApproval(
    ctx,
    ctx.tree.root().id,
    {
      id: `setup-${inputDigest.replace(/^sha256:/, '').slice(0, 32)}`,
      uri: source === 'repository' ? '.mxd/hooks/setup_worktree.sh' : 'setup',
      side_effect_class: 'shell',
      input,
      inputDigest,
      reason: reasonOf(view),
      expiresAt: ctx.world.clock.now() + PATIENCE_MS,
      scopes: ['always'],
    },
    {
      signal: AbortSignal.any([ctx.closing.signal, settled.signal]),
      holdsUp: ({ activity }) => activity === 'starting',
    },
  )
  if (settled.signal.aborted || ctx.isClosing) return
  if (answer.decision === 'deny') throw undecided('The proposed setup was denied')
  await keepChoice(
    ctx,
    script === null ? { choice: 'none', seen: view.seen } : { choice: 'script', script, files, seen: view.seen },
  )
}

function reasonOf({ proposal, changed, sandbox }: SetupView): string {
  const why = changed ?? 'The setup of this project is not decided, and no task starts before it is.'
  if (proposal.choice === 'none')
    return `${why} Nothing was found that a new worktree needs. To give a script: matrix init.`
  const where = sandbox.isActive ? 'in a sandbox' : `outside of any sandbox (${sandbox.reason})`
  const reads = proposal.files.length > 0 ? ` It reads of your checkout: ${proposal.files.join(', ')}.` : ''
  return `${why} The script runs ${where} in every new worktree.${reads} To change it, or to have none: matrix init.`
}

function viewDecision(decision: SetupDecision): SetupView['decision'] {
  const { choice, decidedAt } = decision
  if (decision.choice === 'none') return { choice, decidedAt, script: null, files: [], sha256: null }
  const { script, files, sha256 } = decision
  return { choice, decidedAt, script, files, sha256 }
}

/** A user may take a year to answer; a task that is stopped does not wait for it. */
export async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop)
  })
  return Promise.race([work, aborted]).finally(() => signal?.removeEventListener('abort', stop))
}
