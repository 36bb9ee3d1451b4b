import type { Attention } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Field } from '../parts/field.tsx'
import { formatDuration } from '../parts/formats.ts'
import { splitInput } from './call-input.ts'

type Scope = 'once' | 'task' | 'always'
type Decision =
  | { decision: 'deny'; reason?: string }
  | { decision: 'allow'; scope: Scope; inputDigest: string; anyArguments?: true }

const said: Record<Scope, string> = {
  once: 'Allowed this once',
  task: 'Allowed for this task',
  always: 'Allowed from now on',
}

const saidOfCall: Record<Scope, string> = {
  once: 'Allowed this once',
  task: 'Allowed with these arguments in this task',
  always: 'Allowed with these arguments in this project',
}

const saidOfHost: Record<Scope, string> = {
  once: 'Allowed for 10 minutes',
  task: 'Allowed for this task',
  always: 'Allowed for this project',
}

const saidOfAny = {
  task: 'Allowed with any arguments in this task',
  always: 'Allowed with any arguments in this project',
}

/** What is asked for, exactly as it would run, and the answers. What is allowed is what was shown: the digest goes along. */
export function ApprovalAnswer({ item }: { item: Attention }) {
  const { approval, id, projectId } = item
  const isCall = approval?.uri.startsWith('matrix://tool/') ?? false
  const words = approval?.host ? saidOfHost : isCall ? saidOfCall : said
  const [reason, setReason] = useState('')
  const { mutate, isPending } = useMutation({
    mutationFn: (body: Decision) => client.answerApproval({ projectId, approvalId: id, body }),
    onSuccess: (_, body) => sayDone(saidAfter(body, words), item.taskTitle),
  })
  const inputDigest = approval?.inputDigest ?? ''

  const actions = useMemo((): Action[] => {
    const allow = () => mutate({ decision: 'allow', scope: 'once', inputDigest })
    const deny = () => mutate({ decision: 'deny', ...(reason ? { reason } : {}) })
    return [
      { id: 'approval.allow', label: 'Allow this once', group: 'Inbox', keys: 'a', run: allow },
      { id: 'approval.deny', label: 'Deny', group: 'Inbox', keys: 'd', run: deny },
    ]
  }, [mutate, inputDigest, reason])
  useOffer(actions)

  if (!approval) return <p>{item.text}</p>
  const allow = (scope: Scope) => mutate({ decision: 'allow', scope, inputDigest })
  const allowAny = (scope: 'task' | 'always') => mutate({ decision: 'allow', scope, inputDigest, anyArguments: true })

  return (
    <div className="flex flex-col gap-3">
      <div>
        <div className="flex flex-wrap items-center gap-2">
          <Badge tone={approval.sideEffect === 'read' ? 'neutral' : 'warn'}>{approval.sideEffect}</Badge>
          <code className="break-all font-mono text-ink-2 text-sm">{approval.host ?? approval.uri}</code>
        </div>
        <CallInput input={approval.input} />
        <p className="text-ink-2 text-sm">
          {approval.reason} <Expiry at={approval.expiresAt} />
        </p>
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <Button look="primary" shortcut="a" isBusy={isPending} onClick={() => allow('once')}>
          {approval.host ? 'For 10 minutes' : 'Allow once'}
        </Button>
        <Button isBusy={isPending} onClick={() => allow('task')}>
          {isCall ? 'These arguments in this task' : 'For this task'}
        </Button>
        <Button isBusy={isPending} onClick={() => allow('always')}>
          {approval.host ? 'For this project' : isCall ? 'These arguments in this project' : 'Always'}
        </Button>
        {approval.mayAllowAny ? (
          <>
            <Button isBusy={isPending} onClick={() => allowAny('task')}>
              Any arguments in this task
            </Button>
            <Button isBusy={isPending} onClick={() => allowAny('always')}>
              Any arguments in this project
            </Button>
          </>
        ) : null}
        <form
          className="ml-auto flex gap-2 max-sm:w-full"
          onSubmit={(event) => {
            event.preventDefault()
            mutate({ decision: 'deny', ...(reason ? { reason } : {}) })
          }}
        >
          <Field
            aria-label="Why it is denied"
            placeholder="Why not (optional)"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
          <Button type="submit" look="danger" shortcut="d" isBusy={isPending}>
            Deny
          </Button>
        </form>
      </div>
    </div>
  )
}

function saidAfter(body: Decision, words: Record<Scope, string>): string {
  if (body.decision === 'deny') return 'Denied'
  return body.anyArguments && body.scope !== 'once' ? saidOfAny[body.scope] : words[body.scope]
}

/** A command reads as a command, a script as a script; anything else as the JSON that it is. */
function CallInput({ input }: { input: unknown }) {
  const { program, rest } = splitInput(input)
  return (
    <>
      {program === undefined ? null : <CodeBlock code={program} language="bash" isWrapped />}
      {rest === undefined ? null : <CodeBlock code={showRest(rest)} language="json" isWrapped />}
    </>
  )
}

/** Little fits on one line. */
function showRest(rest: unknown): string {
  const line = JSON.stringify(rest)
  return line.length < 80 ? line : JSON.stringify(rest, null, 2)
}

const soonMs = 86_400_000

/** Said only when it is near enough to matter. */
function Expiry({ at }: { at: string }) {
  const left = Date.parse(at) - useNow()
  if (left > soonMs) return null
  return <>{left > 0 ? `Denied by itself in ${formatDuration(left)}.` : 'It has expired.'}</>
}
