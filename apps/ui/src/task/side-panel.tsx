import { plural } from '@matrix/protocol/display'
import type { TaskView } from '@matrix/protocol/http'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { GitBranch, X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { client } from '../live/client.ts'
import { useTasks } from '../live/live.ts'
import { Budget } from '../money/budget.tsx'
import { Badge } from '../parts/badge.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { TextArea } from '../parts/field.tsx'
import { Money, Tokens } from '../parts/figures.tsx'
import { formatCount, formatTokens } from '../parts/formats.ts'
import { Markdown } from '../parts/markdown.tsx'
import { Meter } from '../parts/meter.tsx'
import { StatusDot } from '../parts/status-dot.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { claimsOf } from '../tools/server-standing.ts'
import { useTools } from '../tools/tools-query.ts'
import { Configuration } from './configuration.tsx'
import { RawEvents } from './raw-events.tsx'

type SidePanelProps = {
  task: TaskView
  panel: string
  onPanel: (panel: string | undefined) => void
}

/** What stands beside a conversation. */
export function SidePanel({ task, panel, onPanel }: SidePanelProps) {
  return (
    <aside
      aria-label="About the task"
      className="relative flex min-h-0 w-80 shrink-0 flex-col border-l bg-surface 2xl:w-96 max-lg:absolute max-lg:inset-0 max-lg:z-20 max-lg:w-full"
    >
      <IconButton
        label="Close the panel"
        size="small"
        className="absolute top-1.5 right-2 z-10"
        onClick={() => onPanel(undefined)}
      >
        <X size={14} aria-hidden />
      </IconButton>
      <Tabs
        label="About the task"
        value={panel === 'raw' ? 'raw' : 'about'}
        onChange={onPanel}
        className="h-full"
        tabs={[
          { id: 'about', label: 'About', content: <About task={task} /> },
          { id: 'raw', label: 'Raw events', content: <RawEvents projectId={task.projectId} taskId={task.id} /> },
        ]}
      />
    </aside>
  )
}

function About({ task }: { task: TaskView }) {
  return (
    <div className="flex flex-col gap-4 p-3">
      <Description task={task} />
      <Section title="Budget">
        <Budget task={task} />
      </Section>
      <Section title="Context">
        <Context task={task} />
      </Section>
      {task.folder ? null : (
        <Section title="Configuration">
          <Configuration task={task} />
        </Section>
      )}
      <Section title="Children">
        <Children task={task} />
      </Section>
      <Section title="Manifest">
        <Manifest task={task} />
      </Section>
      <Facts task={task} />
    </div>
  )
}

function Section({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section>
      <div className="mb-1 flex items-center gap-2">
        <h2 className="flex-1 font-semibold text-ink-2 text-sm">{title}</h2>
        {action}
      </div>
      {children}
    </section>
  )
}

function Description({ task }: { task: TaskView }) {
  const [draft, setDraft] = useState<string>()
  const save = useMutation({
    mutationFn: (description: string) =>
      client.updateTask({ projectId: task.projectId, taskId: task.id, body: { description } }),
    onSuccess: () => setDraft(undefined),
  })

  if (draft !== undefined)
    return (
      <Section title="Description">
        <TextArea
          aria-label="Description"
          rows={10}
          autoFocus
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
        <div className="mt-2 flex justify-end gap-2">
          <Button size="small" look="quiet" onClick={() => setDraft(undefined)}>
            Cancel
          </Button>
          <Button size="small" look="primary" isBusy={save.isPending} onClick={() => save.mutate(draft)}>
            Save
          </Button>
        </div>
      </Section>
    )
  return (
    <Section
      title="Description"
      action={
        <Button size="small" look="quiet" onClick={() => setDraft(task.description)}>
          Edit
        </Button>
      }
    >
      {task.description.trim() === '' ? (
        <p className="text-ink-3">None. The title is all the agent is told.</p>
      ) : (
        <Markdown text={task.description} />
      )}
    </Section>
  )
}

/** How much of what a model can hold is used; past four fifths it will soon be summed up. */
function Context({ task }: { task: TaskView }) {
  const { contextTokens, contextWindow, model } = task
  if (contextTokens === null) return <p className="text-ink-3">Known while an agent runs.</p>
  const words = contextWindow
    ? `${formatTokens(contextTokens)} of ${formatTokens(contextWindow)} tokens`
    : `${formatCount(contextTokens)} tokens`
  return (
    <>
      <p className="tabular text-sm">
        {words}
        {model ? <span className="text-ink-3"> · {model}</span> : null}
      </p>
      {contextWindow ? <Meter label="Context" value={contextTokens} max={contextWindow} words={words} /> : null}
    </>
  )
}

const mostChildren = 50

function Children({ task }: { task: TaskView }) {
  const tasks = useTasks(task.projectId)
  const children = task.children.flatMap((id) => tasks[id] ?? [])
  if (children.length === 0) return <p className="text-ink-3">None.</p>
  return (
    <ul>
      {children.slice(0, mostChildren).map((child) => (
        <li key={child.id}>
          <Link
            to="/p/$projectId/t/$taskId"
            params={{ projectId: child.projectId, taskId: child.id }}
            className="flex h-7 items-center gap-2 rounded-sm px-1 hover:bg-hover pointer-coarse:h-10"
          >
            <StatusDot task={child} />
            <span className="min-w-0 flex-1 truncate">{child.title}</span>
            <Money usd={child.treeCostUsd} className="text-ink-3 text-sm" />
          </Link>
        </li>
      ))}
      {children.length > mostChildren ? (
        <li className="px-1 text-ink-3 text-sm">and {formatCount(children.length - mostChildren)} more in the tree</li>
      ) : null}
    </ul>
  )
}

/** What the agent may use, in short; each tool and what was checked of it has a page of its own. */
function Manifest({ task }: { task: TaskView }) {
  const { projectId, id: taskId } = task
  const { data } = useTools(task)
  if (!data) return <p className="text-ink-3">…</p>
  return (
    <>
      <p className="text-sm">
        <Link to="/p/$projectId/t/$taskId/tools" params={{ projectId, taskId }} className="text-accent underline">
          {data.agent}
        </Link>{' '}
        may {data.allowedSideEffects.join(', ') || 'do nothing'}
      </p>
      <ul className="text-sm">
        {data.servers.map((server) => (
          <li key={server.alias} className="flex min-h-6 items-center gap-2">
            <span className="font-mono">{server.alias}</span>
            <span className="flex-1 text-ink-3">{plural(server.tools.length, 'tool')}</span>
            {claimsOf(server, data.sandbox)
              .slice(0, 1)
              .map(({ label, tone, means }) => (
                <Badge key={label} tone={tone} title={means}>
                  {label}
                </Badge>
              ))}
          </li>
        ))}
      </ul>
    </>
  )
}

function Facts({ task }: { task: TaskView }) {
  const { projectId, id: taskId } = task
  const detail = useQuery({
    queryKey: ['task', projectId, taskId, task.lastSeq >> 5],
    queryFn: () => client.getTask({ projectId, taskId }),
    placeholderData: (before) => before,
  })
  const usage = detail.data?.usage
  return (
    <Section title="Facts">
      <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 text-sm">
        {detail.data?.instructions?.length ? (
          <Fact name="Instructions">
            {detail.data.instructions.map(({ path, origin, notes }) => (
              <span key={path} title={notes.join('; ') || undefined} className="block truncate font-mono">
                {path}
                {origin === 'checkout' ? ' (not committed)' : ''}
                {notes.length > 0 ? ' ⚠' : ''}
              </span>
            ))}
          </Fact>
        ) : null}
        {task.branch ? (
          <Fact name="Branch" copy={task.branch}>
            <GitBranch size={12} aria-hidden className="mr-1 inline" />
            {task.branch}
          </Fact>
        ) : null}
        {detail.data?.targetBranch ? (
          <Fact name="Merges into" copy={detail.data.targetBranch}>
            {detail.data.targetBranch}
          </Fact>
        ) : null}
        {task.worktreePath ? (
          <Fact name="Worktree" copy={task.worktreePath}>
            {task.worktreePath}
          </Fact>
        ) : null}
        {usage ? (
          <Fact name="Tokens">
            <Tokens count={usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens} /> in (
            <Tokens count={usage.cacheReadTokens} /> cached), <Tokens count={usage.outputTokens} /> out
          </Fact>
        ) : null}
        <Fact name="Own cost">
          <Money usd={task.costUsd} />
        </Fact>
        <Fact name="Id" copy={taskId}>
          {taskId}
        </Fact>
      </dl>
    </Section>
  )
}

function Fact({ name, copy, children }: { name: string; copy?: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="flex min-w-0 items-start gap-1">
        <span className="min-w-0 flex-1 break-all">{children}</span>
        {copy ? <Copy text={copy} label={`Copy: ${name}`} /> : null}
      </dd>
    </>
  )
}
