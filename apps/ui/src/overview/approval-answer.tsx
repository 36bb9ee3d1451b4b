import type { UntrustedSource } from '@matrix/protocol'
import { type ApprovalChoice, approvalChoices, describeSource } from '@matrix/protocol/display'
import type { Attention } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Field } from '../parts/field.tsx'
import { Age } from '../parts/figures.tsx'
import { formatDuration } from '../parts/formats.ts'
import { splitInput } from './call-input.ts'

type Decision =
  | { decision: 'deny'; reason?: string }
  | { decision: 'allow'; scope: ApprovalChoice['scope']; inputDigest: string; anyArguments?: true }

/** What is asked for, exactly as it would run, and the answers. What is allowed is what was shown: the digest goes along. */
export function ApprovalAnswer({ item }: { item: Attention }) {
  const { approval, id, projectId } = item
  const [reason, setReason] = useState('')
  const { mutate, isPending } = useMutation({
    mutationFn: (choice: ApprovalChoice | 'deny') =>
      client.answerApproval({ projectId, approvalId: id, body: decisionOf(choice, { reason, approval }) }),
    onSuccess: (_, choice) => sayDone(choice === 'deny' ? 'Denied' : choice.said, item.taskTitle),
  })
  const choices = useMemo(() => (approval ? approvalChoices(approval) : []), [approval])

  const actions = useMemo((): Action[] => {
    const [first] = choices
    const deny: Action = { id: 'approval.deny', label: 'Deny', group: 'Inbox', keys: 'd', run: () => mutate('deny') }
    if (!first) return [deny]
    const { label } = first
    return [{ id: 'approval.allow', label, group: 'Inbox', keys: 'a', run: () => mutate(first) }, deny]
  }, [mutate, choices])
  useOffer(actions)

  if (!approval) return <p>{item.text}</p>
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
        {approval.led ? <LedThere item={item} led={approval.led} /> : null}
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {choices.map((choice, index) => (
          <Button
            key={choice.key}
            {...(index === 0 && { look: 'primary', shortcut: 'a' })}
            isBusy={isPending}
            onClick={() => mutate(choice)}
          >
            {choice.label}
          </Button>
        ))}
        <form
          className="ml-auto flex gap-2 max-sm:w-full"
          onSubmit={(event) => {
            event.preventDefault()
            mutate('deny')
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

function decisionOf(
  choice: ApprovalChoice | 'deny',
  { reason, approval }: { reason: string; approval: Attention['approval'] },
): Decision {
  if (choice === 'deny') return { decision: 'deny', ...(reason ? { reason } : {}) }
  const { scope, anyArguments } = choice
  return { decision: 'allow', scope, inputDigest: approval?.inputDigest ?? '', ...(anyArguments && { anyArguments }) }
}

/** Why this is asked: the untrusted content that was read before, and where. */
function LedThere({ item, led }: { item: Attention; led: readonly UntrustedSource[] }) {
  return (
    <div className="mt-2 border-warn/50 border-l-2 pl-3 text-sm">
      <p className="font-medium">What led here</p>
      <ul>
        {led.map((each) => (
          <li key={each.id}>
            <Link to="/p/$projectId/t/$taskId" params={{ projectId: item.projectId, taskId: each.taskId }}>
              {describeSource(each)}
            </Link>
            , read <Age at={each.at} /> ago
          </li>
        ))}
      </ul>
    </div>
  )
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
