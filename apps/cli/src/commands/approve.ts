import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { type ApprovalChoice, approvalChoices, describeLed, formatDuration } from '@matrix/protocol/display'
import type { Attention } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect } from '../place.ts'
import { ask, isInteractive } from '../prompt.ts'
import { colorsFor, print, printJson } from '../terminal.ts'
import { findWaiting } from './inbox.ts'

type ApproveOptions = {
  deny?: boolean
  reason?: string
  scope?: string
  digest?: string
  anyArguments?: boolean
  list?: boolean
  json?: boolean
}
type Approval = Attention & { approval: NonNullable<Attention['approval']> }
type Decision =
  | { decision: 'deny'; reason?: string }
  | { decision: 'allow'; scope: ApprovalChoice['scope']; inputDigest: string; anyArguments?: true }

/** Shows the calls that need an approval, and asks. What is approved is exactly the call that was shown. */
export async function approve(id: string | undefined, options: ApproveOptions): Promise<ExitCode> {
  const client = await connect()
  const waiting = (await client.listAttention()).filter(isApproval)
  const isDecided = Boolean(options.deny || options.scope || options.digest)
  if (options.list || (options.json && !isDecided) || waiting.length === 0) return list(waiting, options)
  if (!isDecided && !isInteractive()) {
    list(waiting, options)
    throw new MatrixError('REQUEST_INVALID', 'No terminal to ask on.', {
      hint: 'Decide with --digest <digest> and a --scope that the call takes, or with --deny.',
    })
  }

  const chosen = id === undefined && !isDecided ? waiting : [(await findWaiting(client, waiting, id)) as Approval]
  for (const one of chosen) {
    const decision = isDecided ? decide(one, options) : await askAbout(one)
    if (!decision) continue
    await client.answerApproval({ projectId: one.projectId, approvalId: one.id, body: decision })
    if (options.json) printJson({ id: one.id, ...decision })
    else print(decision.decision === 'allow' ? 'Allowed.' : 'Denied.')
  }
  return exitCode.ok
}

function isApproval(one: Attention): one is Approval {
  return one.kind === 'approval' && one.approval !== undefined
}

function list(waiting: readonly Approval[], { json }: ApproveOptions): ExitCode {
  if (json) printJson(waiting)
  else print(waiting.length === 0 ? 'No approval is waiting.' : waiting.map(formatApproval).join('\n\n'))
  return exitCode.ok
}

/** A script approves a digest that it has seen: the call may have been replaced by another since. */
function decide({ approval }: Approval, { deny, reason, scope, digest, anyArguments }: ApproveOptions): Decision {
  if (deny) return { decision: 'deny', ...(reason === undefined ? {} : { reason }) }
  if (digest === undefined || !approval.inputDigest.startsWith(digest) || digest.length < 8)
    throw new MatrixError('REQUEST_INVALID', 'The digest is missing, or it is not that of the call.', {
      hint: `Look at the call with matrix approve --list, then give --digest ${approval.inputDigest}.`,
    })
  return allow(chosenOf(approval, scope, anyArguments), approval)
}

/** Only what is offered can be chosen: the daemon would refuse the rest. */
function chosenOf(
  approval: Approval['approval'],
  scope: string | undefined,
  anyArguments: boolean | undefined,
): ApprovalChoice {
  const choices = approvalChoices(approval)
  const wanted = scope ?? choices[0]?.scope
  const chosen = choices.find((each) => each.scope === wanted && Boolean(each.anyArguments) === Boolean(anyArguments))
  if (chosen) return chosen
  const given = `${printableLine(wanted ?? '')}${anyArguments ? ' with --any-arguments' : ''}`
  throw new MatrixError('REQUEST_INVALID', `This approval does not take the scope ${given}.`, {
    hint: `Give ${choices.map((each) => `--scope ${scopeOf(each)}`).join(', or ')}.`,
  })
}

function allow({ scope, anyArguments }: ApprovalChoice, { inputDigest }: Approval['approval']): Decision {
  return { decision: 'allow', scope, inputDigest, ...(anyArguments && { anyArguments }) }
}

async function askAbout(one: Approval): Promise<Decision | undefined> {
  print(formatApproval(one))
  const choices = approvalChoices(one.approval)
  const offered = choices.map(({ key, label }) => `[${key}] ${lowerFirst(label)}`).join(', ')
  const answer = await ask(`Allow it? ${offered}, [n] no, [s] later: `)
  const chosen = choices.find(({ key }) => key === (answer === 'yes' ? 'y' : answer))
  if (chosen) return allow(chosen, one.approval)
  return answer === 'n' || answer === 'no' ? { decision: 'deny' } : undefined
}

function lowerFirst(label: string): string {
  return label.charAt(0).toLowerCase() + label.slice(1)
}

function formatApproval({ id, taskTitle, since, approval }: Approval): string {
  const { bold, yellow, dim } = colorsFor(process.stdout)
  return [
    `${yellow(approval.sideEffect)}  ${bold(printableLine(approval.uri))}`,
    dim(
      `  ${printableLine(taskTitle)} · asked ${formatDuration(Date.now() - Date.parse(since))} ago${endOf(approval.expiresAt)}`,
    ),
    ...formatInput(approval.input).map((text) => `  ${text}`),
    `  ${printableLine(approval.reason)}`,
    ...(approval.led ?? []).map((each) => yellow(`  led there: ${printableLine(describeLed(each))}`)),
    dim(`  id      ${id}`),
    dim(`  digest  ${approval.inputDigest}`),
    dim(`  scopes  ${approvalChoices(approval).map(scopeOf).join(', ')}`),
  ].join('\n')
}

function scopeOf({ scope, anyArguments }: ApprovalChoice): string {
  return anyArguments ? `${scope} --any-arguments` : scope
}

const DAY_MS = 24 * 3600 * 1000

/** An approval without a real time limit shows none. */
function endOf(expiresAt: string): string {
  const leftMs = Date.parse(expiresAt) - Date.now()
  return leftMs > 30 * DAY_MS ? '' : ` · ends in ${formatDuration(leftMs)}`
}

/** Text of several lines is shown as it would be run or written. */
function formatInput(input: unknown): string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return [printable(JSON.stringify(input) ?? '')]
  return Object.entries(input).flatMap(([name, value]) => {
    if (typeof value !== 'string') return printable(`${name}: ${JSON.stringify(value, null, 2)}`).split('\n')
    if (!value.includes('\n')) return [`${printable(name)}: ${printable(value)}`]
    return [
      `${printable(name)}:`,
      ...printable(value.trimEnd())
        .split('\n')
        .map((text) => `│ ${text}`),
    ]
  })
}
