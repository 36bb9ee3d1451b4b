import type { Attention } from '../http/task-view.ts'

type Approval = Pick<NonNullable<Attention['approval']>, 'uri' | 'host' | 'mayAllowAny' | 'scopes'>
type Scope = NonNullable<Approval['scopes']>[number]

/** One way to allow what an approval asks for. `key` is what is typed on a terminal, `said` what stands there afterwards. */
export type ApprovalChoice = { scope: Scope; anyArguments?: true; key: string; label: string; said: string }

/** The answers that an approval takes, shortest first: what is not in the list is refused by the daemon. */
export function approvalChoices(approval: Approval): ApprovalChoice[] {
  const { host, uri, mayAllowAny, scopes } = approval
  if (host !== undefined) return offered(ofHost, scopes)
  if (!uri.startsWith('matrix://tool/')) return offered(scopes?.includes('once') ? ofOther : ofKept, scopes)
  return offered(mayAllowAny ? [...ofCall, ...ofAnyCall] : ofCall, scopes)
}

function offered(choices: readonly ApprovalChoice[], scopes: readonly Scope[] | undefined): ApprovalChoice[] {
  return choices.filter(({ scope }) => scopes?.includes(scope) ?? true)
}

const once = { scope: 'once', key: 'y', label: 'Allow once', said: 'Allowed this once' } as const

const ofHost: readonly ApprovalChoice[] = [
  { scope: 'once', key: 'y', label: 'For 10 minutes', said: 'Allowed for 10 minutes' },
  { scope: 'task', key: 't', label: 'For this task', said: 'Allowed for this task' },
  { scope: 'always', key: 'a', label: 'For this project', said: 'Allowed for this project' },
]

const ofCall: readonly ApprovalChoice[] = [
  once,
  {
    scope: 'task',
    key: 't',
    label: 'These arguments in this task',
    said: 'Allowed with these arguments in this task',
  },
  {
    scope: 'always',
    key: 'a',
    label: 'These arguments in this project',
    said: 'Allowed with these arguments in this project',
  },
]

const ofAnyCall: readonly ApprovalChoice[] = [
  {
    scope: 'task',
    anyArguments: true,
    key: 'any',
    label: 'Any arguments in this task',
    said: 'Allowed with any arguments in this task',
  },
  {
    scope: 'always',
    anyArguments: true,
    key: 'any always',
    label: 'Any arguments in this project',
    said: 'Allowed with any arguments in this project',
  },
]

const ofOther: readonly ApprovalChoice[] = [
  once,
  { scope: 'task', key: 't', label: 'For this task', said: 'Allowed for this task' },
  { scope: 'always', key: 'a', label: 'Always', said: 'Allowed from now on' },
]

/** A script, a server, a manifest: approved as it was shown, until it changes. */
const ofKept: readonly ApprovalChoice[] = [
  { scope: 'always', key: 'y', label: 'Approve', said: 'Approved until it changes' },
]
