import type { ServerDrift, ServerStatus, TaskView } from '@matrix/protocol/http'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { diffWords } from '../parts/word-diff.ts'

type Tool = ServerDrift['tools'][number]

const changes: Record<Tool['change'], { label: string; tone: Tone }> = {
  changed: { label: 'changed', tone: 'warn' },
  added: { label: 'new', tone: 'warn' },
  removed: { label: 'gone', tone: 'bad' },
  repeated: { label: 'there twice', tone: 'bad' },
}

/** What a server has now against what was agreed to, word by word, and the answer to it. */
export function DriftView({ server, drift, task }: { server: ServerStatus; drift: ServerDrift; task: TaskView }) {
  return (
    <div className="mt-2 flex flex-col gap-2">
      <div className="rounded-md border bg-surface">
        <p className="border-b px-3 py-1.5 text-ink-2 text-sm">
          <span className={looks.removed}>Agreed to, and gone</span> · <span className={looks.added}>found now</span>
        </p>
        <ul aria-label={`What is different about ${server.alias}`} className="max-h-96 divide-y overflow-auto">
          {drift.tools.map((tool, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a name may be there twice, which is what is wrong with it.
            <li key={index} className="px-3 py-2">
              <ChangedTool tool={tool} />
            </li>
          ))}
        </ul>
      </div>
      <DriftAnswer server={server} drift={drift} task={task} />
    </div>
  )
}

function ChangedTool({ tool: { tool, change, sideEffect, fields } }: { tool: Tool }) {
  const { label, tone } = changes[change]
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <span className="break-all font-medium font-mono text-sm">{tool}</span>
        <Badge tone={tone}>{label}</Badge>
        {change === 'added' ? <span className="text-ink-2 text-sm">would be allowed to {sideEffect}</span> : null}
      </p>
      <dl>
        {fields.map(({ field, approved, found }) => (
          <div key={field} className="mt-1 grid grid-cols-[8rem_1fr] gap-2 max-sm:grid-cols-1 max-sm:gap-0">
            <dt className="break-words font-mono text-ink-3 text-sm">{field}</dt>
            <dd className="whitespace-pre-wrap break-words [overflow-wrap:anywhere]">
              <Words approved={approved ?? ''} found={found ?? ''} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

const looks = {
  same: '',
  removed: 'rounded-sm bg-bad/20 line-through decoration-bad',
  added: 'rounded-sm bg-ok/25 font-medium',
}

function Words({ approved, found }: { approved: string; found: string }) {
  const parts = useMemo(() => diffWords(approved, found), [approved, found])
  return parts.map(({ kind, text }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the words of a finished diff never move.
    <span key={index} className={looks[kind]}>
      {kind === 'same' ? null : <span className="sr-only">{kind === 'added' ? 'found: ' : 'agreed to: '}</span>}
      {text}
    </span>
  ))
}

/** Agreeing is bound to what stands above: a server that has changed once more since is not agreed to. */
function DriftAnswer({ server: { alias }, drift: { surface, obstacle }, task }: Parameters<typeof DriftView>[0]) {
  const queryClient = useQueryClient()
  const place = { projectId: task.projectId, taskId: task.id, alias }
  const finish = async (title: string, detail: string) => {
    sayDone(title, detail)
    await Promise.all(['config', 'tools'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
  }
  const approve = useMutation({
    mutationFn: (agreed: string) => client.answerDrift({ ...place, body: { decision: 'approve', surface: agreed } }),
    onSuccess: () => finish(`${alias} is locked as it is now`, 'Agents have it again from their next start on.'),
  })
  const block = useMutation({
    mutationFn: () => client.answerDrift({ ...place, body: { decision: 'block' } }),
    onSuccess: () => finish(`${alias} is blocked`, 'No agent of the project calls it.'),
  })
  return (
    <div className="flex flex-wrap items-center gap-2">
      {surface !== null && obstacle === null ? (
        <Button isBusy={approve.isPending} onClick={() => approve.mutate(surface)}>
          Agree to what {alias} has now
        </Button>
      ) : null}
      <Button look="danger" isBusy={block.isPending} onClick={() => block.mutate()}>
        Block {alias}
      </Button>
      <p className="min-w-0 flex-1 text-ink-2 text-sm">
        {obstacle === null ? 'Until you answer, no agent calls it.' : `Nobody can agree to this. ${obstacle}`}
      </p>
    </div>
  )
}
