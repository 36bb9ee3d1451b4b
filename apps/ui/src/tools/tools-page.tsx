import { plural } from '@matrix/protocol/display'
import type { ServerStatus, TaskView, ToolsView } from '@matrix/protocol/http'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { MissingPage } from '../app/missing-page.tsx'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useAttention, useTask } from '../live/live.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Copy } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { formatCount } from '../parts/formats.ts'
import { Empty, ErrorState, Loading } from '../parts/states.tsx'
import { TaskHeader } from '../task/task-header.tsx'
import { denyPattern, readDenied, toggleDenied } from './deny-list.ts'
import { DriftView } from './drift-view.tsx'
import { claimsOf } from './server-standing.ts'
import { SkillsSection } from './skills-section.tsx'
import { useTools } from './tools-query.ts'

type Tool = ServerStatus['tools'][number]

/** Everything an agent can call, how far each claim about it was checked, and the way to take it away. */
export function ToolsPage() {
  const { projectId, taskId } = useParams({ from: '/p/$projectId/t/$taskId/tools' })
  const task = useTask(projectId, taskId)
  if (!task) return <MissingPage />
  return <ToolsOf task={task} />
}

function ToolsOf({ task }: { task: TaskView }) {
  const tools = useTools(task)
  return (
    <div className="flex h-full flex-col">
      <TaskHeader task={task} />
      <div className="min-h-0 flex-1 overflow-auto">
        {tools.isPending ? <Loading label="Looking at the servers" /> : null}
        {tools.isError ? <ErrorState error={tools.error} onRetry={() => void tools.refetch()} /> : null}
        {tools.data ? <Tools task={task} view={tools.data} /> : null}
      </div>
    </div>
  )
}

function Tools({ task, view }: { task: TaskView; view: ToolsView }) {
  const [wanted, setWanted] = useState('')
  const [isOnlyUnused, setOnlyUnused] = useState(false)
  const all = view.servers.flatMap((server) => server.tools)
  const unused = all.filter(({ calls }) => calls === 0).length
  // Calls are counted while an agent lives; of one that has ended nobody can say what it never called.
  const isCounted = task.activity !== 'off'
  const matches = (tool: Tool) =>
    tool.name.toLowerCase().includes(wanted.trim().toLowerCase()) && (!isOnlyUnused || tool.calls === 0)

  return (
    <div className="mx-auto flex max-w-5xl flex-col gap-4 p-4">
      <section aria-label="The agent" className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h2 className="font-semibold text-md">{view.agent}</h2>
        <span className="text-ink-2">may {view.allowedSideEffects.join(', ') || 'do nothing'}</span>
        <SandboxState sandbox={view.sandbox} />
        {view.manifestFile ? (
          <span className="flex items-center gap-1 font-mono text-ink-3 text-sm">
            {view.manifestFile} <Copy text={view.manifestFile} label="Copy the path of the manifest" />
          </span>
        ) : null}
      </section>
      <Waiting task={task} />
      <SkillsSection task={task} />
      {view.servers.length === 0 ? (
        <Empty title="No tools">The manifest of this agent declares no server.</Empty>
      ) : (
        <>
          <div className="flex flex-wrap items-center gap-2">
            <Field
              aria-label="Find a tool"
              placeholder="Find a tool"
              className="max-w-60"
              value={wanted}
              onChange={(event) => setWanted(event.target.value)}
            />
            <span className="text-ink-2">
              {plural(all.length, 'tool')} of {plural(view.servers.length, 'server')}
            </span>
            <span className="flex-1" />
            {isCounted ? (
              <Button
                size="small"
                look={isOnlyUnused ? 'primary' : 'plain'}
                aria-pressed={isOnlyUnused}
                onClick={() => setOnlyUnused((before) => !before)}
              >
                {formatCount(unused)} not called so far
              </Button>
            ) : null}
          </div>
          {view.servers.toSorted(byTrouble).map((server) => (
            <Server
              key={server.alias}
              server={server}
              sandbox={view.sandbox}
              tools={server.tools.filter(matches)}
              task={task}
            />
          ))}
        </>
      )}
    </div>
  )
}

/** What somebody has to look at stands first. */
function byTrouble(one: ServerStatus, other: ServerStatus): number {
  return Number(other.problem !== null) - Number(one.problem !== null)
}

function SandboxState({ sandbox }: { sandbox: ToolsView['sandbox'] }) {
  if (sandbox.isActive) return <Badge>Sandbox active</Badge>
  return (
    <Badge tone="warn" title={sandbox.reason ?? 'It is switched off'}>
      No sandbox{sandbox.reason ? `: ${sandbox.reason}` : ''}
    </Badge>
  )
}

/** What this agent waits for a person to allow, with the way to decide. */
function Waiting({ task }: { task: TaskView }) {
  const attention = useAttention()
  const waiting = useMemo(
    () =>
      attention.filter(
        ({ kind, taskId, projectId }) => kind === 'approval' && taskId === task.id && projectId === task.projectId,
      ),
    [attention, task.id, task.projectId],
  )
  if (waiting.length === 0) return null
  return (
    <ul className="flex flex-col gap-2">
      {waiting.map((item) => (
        <li
          key={item.id}
          className="flex flex-wrap items-center gap-3 rounded-lg border border-warn/30 bg-warn-soft px-3 py-2"
        >
          <span className="min-w-0 flex-1 break-words">{item.text}</span>
          <Link
            to="/"
            search={{ item: item.id }}
            className="inline-flex h-8 items-center rounded-md bg-accent px-3 font-medium text-accent-ink"
          >
            Approve or deny
          </Link>
        </li>
      ))}
    </ul>
  )
}

type ServerProps = { server: ServerStatus; sandbox: ToolsView['sandbox']; tools: readonly Tool[]; task: TaskView }

function Server({ server, sandbox, tools, task }: ServerProps) {
  const { server: wanted } = useSearch({ from: '/p/$projectId/t/$taskId/tools' })
  const card = useRef<HTMLElement>(null)
  useEffect(() => {
    if (wanted === server.alias) card.current?.scrollIntoView({ block: 'start' })
  }, [wanted, server.alias])

  return (
    <section ref={card} aria-label={`Server ${server.alias}`} className="overflow-hidden rounded-lg border bg-surface">
      <header className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
        <h3 className="font-semibold">{server.alias}</h3>
        {server.version ? <span className="font-mono text-ink-2 text-sm">{server.version}</span> : null}
        <span className="text-ink-3 text-sm">{server.transport}</span>
        {claimsOf(server, sandbox).map(({ label, tone, means }) => (
          <Badge key={label} tone={tone} title={means}>
            {label}
          </Badge>
        ))}
        {server.isRunning ? <Badge tone="accent">running</Badge> : null}
        <span className="flex-1" />
        {server.digest ? (
          <span className="flex items-center gap-1 font-mono text-ink-3 text-xs" title={server.digest}>
            {server.digest.slice(0, 19)}… <Copy text={server.digest} label="Copy the digest" />
          </span>
        ) : null}
      </header>
      <Trouble server={server} task={task} />
      {tools.length === 0 ? (
        <p className="px-3 py-2 text-ink-3">
          {server.tools.length === 0 ? 'No tools are known of it.' : 'None of its tools is looked for.'}
        </p>
      ) : (
        <ul className="divide-y">
          {tools.map((tool) => (
            <li key={tool.wireName}>
              <ToolRow server={server} tool={tool} task={task} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Trouble({ server, task }: { server: ServerStatus; task: TaskView }) {
  if (!server.problem) return null
  return (
    <div className="border-b bg-bad-soft px-3 py-2">
      {server.drifted ? (
        <>
          <p className="font-medium text-bad">{server.alias} is not what was agreed to.</p>
          <DriftView server={server} drift={server.drifted} task={task} />
        </>
      ) : (
        <>
          <p className="break-words font-medium text-bad">{server.problem.message}</p>
          <p className="text-ink-2">{server.problem.hint}</p>
        </>
      )}
    </div>
  )
}

const gates: Record<Tool['gate'], { label: string; tone: Tone; means: string }> = {
  allow: { label: 'Allowed', tone: 'ok', means: 'Called without asking. Arguments may still be refused.' },
  ask: {
    label: 'Asks you',
    tone: 'accent',
    means: 'Each call waits for a person, unless one like it was allowed for longer.',
  },
  deny: { label: 'Denied', tone: 'bad', means: 'Never called.' },
}

const heldBack = {
  label: 'Held back',
  tone: 'bad',
  means: 'Not called while its server is not what was agreed to.',
} as const

function ToolRow({ server, tool, task }: { server: ServerStatus; tool: Tool; task: TaskView }) {
  const isHeldBack = server.state === 'drifted' || server.state === 'quarantined'
  const gate = isHeldBack && tool.gate !== 'deny' ? heldBack : gates[tool.gate]
  return (
    <div className="flex flex-wrap items-start gap-x-3 gap-y-1 px-3 py-2">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-2">
          <span className="break-all font-medium font-mono text-sm">{tool.name}</span>
          <span className="text-ink-3 text-sm">{tool.sideEffect}</span>
        </p>
        <p className="line-clamp-2 break-words text-ink-2 text-sm" title={tool.description}>
          {tool.description}
        </p>
      </div>
      <span className={classes('tabular w-24 text-right text-sm', tool.calls === 0 ? 'text-ink-3' : 'text-ink-2')}>
        {tool.calls > 0 ? plural(tool.calls, 'call') : task.activity === 'off' ? '' : 'unused so far'}
      </span>
      <Badge tone={gate.tone} title={gate.means}>
        {gate.label}
      </Badge>
      <Block pattern={denyPattern(server.alias, tool.name)} name={tool.name} projectId={task.projectId} />
    </div>
  )
}

/** Takes a tool away from every agent of the project, or gives it back. */
function Block({ pattern, name, projectId }: { pattern: string; name: string; projectId: string }) {
  const queryClient = useQueryClient()
  const config = useQuery({ queryKey: ['config', projectId], queryFn: () => client.readConfig({ projectId }) })
  const isBlocked = config.data ? readDenied(config.data).includes(pattern) : false
  const change = useMutation({
    mutationFn: async () => {
      const denied = readDenied(await client.readConfig({ projectId }))
      const value = toggleDenied(denied, pattern)
      const after = await client.setConfig({ layer: 'local', key: 'deny', projectId, body: { value } })
      return { isBlocked: readDenied(after).includes(pattern), wasBlocked: denied.includes(pattern) }
    },
    onSuccess: async (result) => {
      if (result.isBlocked && result.wasBlocked)
        sayDone(`${name} stays blocked`, 'Another layer of the settings blocks it.')
      else
        sayDone(
          result.isBlocked ? `${name} is blocked` : `${name} is no longer blocked`,
          'Agents that are launched from now on know.',
        )
      await Promise.all(['config', 'tools'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
    },
  })
  if (!config.data) return null
  return (
    <Button
      size="small"
      look={isBlocked ? 'danger' : 'quiet'}
      aria-pressed={isBlocked}
      isBusy={change.isPending}
      onClick={() => change.mutate()}
      aria-label={`${isBlocked ? 'Unblock' : 'Block'} ${name}`}
    >
      {isBlocked ? 'Unblock' : 'Block'}
    </Button>
  )
}
