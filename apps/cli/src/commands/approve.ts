import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
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
  | { decision: 'allow'; scope: Scope; inputDigest: string; anyArguments?: true }
type Scope = 'once' | 'task' | 'always'

/** Shows the calls that need an approval, and asks. What is approved is exactly the call that was shown. */
export async function approve(id: string | undefined, options: ApproveOptions): Promise<ExitCode> {
  const client = await connect()
  const waiting = (await client.listAttention()).filter(isApproval)
  const isDecided = Boolean(options.deny || options.scope || options.digest)
  if (options.list || (options.json && !isDecided) || waiting.length === 0) return list(waiting, options)
  if (!isDecided && !isInteractive()) {
    list(waiting, options)
    throw new MatrixError('REQUEST_INVALID', 'No terminal to ask on.', {
      hint: 'Decide with --scope once --digest <digest>, or with --deny.',
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
  else print(waiting.length === 0 ? 'No call waits for a yes.' : waiting.map(formatApproval).join('\n\n'))
  return exitCode.ok
}

/** A script agrees to a digest that it has seen: the call may have been replaced by another since. */
function decide({ approval }: Approval, { deny, reason, scope, digest, anyArguments }: ApproveOptions): Decision {
  if (deny) return { decision: 'deny', ...(reason === undefined ? {} : { reason }) }
  if (digest === undefined || !approval.inputDigest.startsWith(digest) || digest.length < 8)
    throw new MatrixError('REQUEST_INVALID', 'The digest of what is agreed to is missing or another one.', {
      hint: `Look at the call with matrix approve --list, then give --digest ${approval.inputDigest}.`,
    })
  const allowed = { decision: 'allow' as const, scope: readScope(scope ?? 'once'), inputDigest: approval.inputDigest }
  return anyArguments ? { ...allowed, anyArguments } : allowed
}

function readScope(text: string): Scope {
  if (text === 'once' || text === 'task' || text === 'always') return text
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not a scope.`, {
    hint: 'Give once, task or always.',
  })
}

async function askAbout(one: Approval): Promise<Decision | undefined> {
  print(formatApproval(one))
  const { host, uri, inputDigest, mayAllowAny } = one.approval
  const isCall = uri.startsWith('matrix://tool/')
  const choices = host ? hostChoices : isCall ? [...callChoices, ...(mayAllowAny ? anyChoices : [])] : otherChoices
  const offered = choices.map(({ key, words }) => `[${key}] ${words}`).join(', ')
  const answer = await ask(`Allow it? ${offered}, [n] no, [s] later: `)
  const chosen = choices.find(({ key }) => key === (answer === 'yes' ? 'y' : answer))
  if (chosen) {
    const { scope, anyArguments } = chosen
    return { decision: 'allow', scope, inputDigest, ...(anyArguments && { anyArguments }) }
  }
  return answer === 'n' || answer === 'no' ? { decision: 'deny' } : undefined
}

type Choice = { key: string; words: string; scope: Scope; anyArguments?: true }

const hostChoices: readonly Choice[] = [
  { key: 'y', words: 'for 10 minutes', scope: 'once' },
  { key: 't', words: 'for this task', scope: 'task' },
  { key: 'a', words: 'for this project', scope: 'always' },
]

const otherChoices: readonly Choice[] = [
  { key: 'y', words: 'once', scope: 'once' },
  { key: 'a', words: 'always', scope: 'always' },
]

const callChoices: readonly Choice[] = [
  { key: 'y', words: 'once', scope: 'once' },
  { key: 't', words: 'these arguments in this task', scope: 'task' },
  { key: 'a', words: 'these arguments in this project', scope: 'always' },
]

const anyChoices: readonly Choice[] = [
  { key: 'any', words: 'any arguments in this task', scope: 'task', anyArguments: true },
  { key: 'any always', words: 'any arguments in this project', scope: 'always', anyArguments: true },
]

function formatApproval({ id, taskTitle, since, approval }: Approval): string {
  const { bold, yellow, dim } = colorsFor(process.stdout)
  return [
    `${yellow(approval.sideEffect)}  ${bold(printableLine(approval.uri))}`,
    dim(
      `  ${printableLine(taskTitle)} · asked ${formatDuration(Date.now() - Date.parse(since))} ago${endOf(approval.expiresAt)}`,
    ),
    ...formatInput(approval.input).map((text) => `  ${text}`),
    `  ${printableLine(approval.reason)}`,
    dim(`  id      ${id}`),
    dim(`  digest  ${approval.inputDigest}`),
  ].join('\n')
}

const DAY_MS = 24 * 3600 * 1000

/** What waits for as long as it takes has no end that anybody would want to know. */
function endOf(expiresAt: string): string {
  const leftMs = Date.parse(expiresAt) - Date.now()
  return leftMs > 30 * DAY_MS ? '' : ` · ends in ${formatDuration(leftMs)}`
}

/** Nobody agrees to what cannot be read: text of several lines stands as it would be run or written. */
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
