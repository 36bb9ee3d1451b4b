import type { BackgroundProcess } from '@matrix/protocol/http'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { SquareTerminal, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { ProjectPage } from '../app/project-page.tsx'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useTask } from '../live/live.ts'
import { Badge } from '../parts/badge.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Copy } from '../parts/copy.tsx'
import { Age } from '../parts/figures.tsx'
import { Empty, ErrorState, Loading } from '../parts/states.tsx'

const listEveryMs = 5000
const readEveryMs = 2000

/** Commands that agents left running: what they are, what they print, and the way to end them. */
export function ProcessesPage() {
  const { projectId } = useParams({ from: '/p/$projectId/processes' })
  const { process } = useSearch({ from: '/p/$projectId/processes' })
  const navigate = useNavigate({ from: '/p/$projectId/processes' })
  // No frame tells of processes, so they are asked for while somebody looks.
  const list = useQuery({
    queryKey: ['processes', projectId],
    queryFn: () => client.listProcesses({ projectId }),
    refetchInterval: listEveryMs,
  })
  const choose = (id: string | undefined) => void navigate({ search: id ? { process: id } : {}, replace: true })

  return (
    <ProjectPage>
      {list.isPending ? <Loading /> : null}
      {list.isError ? <ErrorState error={list.error} onRetry={() => void list.refetch()} /> : null}
      {list.data?.length === 0 ? (
        <Empty icon={<SquareTerminal size={28} aria-hidden />} title="Nothing runs in the background">
          Servers and watchers that agents start appear here, with what they print.
        </Empty>
      ) : null}
      {list.data && list.data.length > 0 ? (
        <div className="flex h-full min-h-0 max-lg:flex-col">
          <ul aria-label="Processes" className="min-w-0 flex-1 divide-y overflow-auto">
            {list.data.map((one) => (
              <li key={one.id}>
                <ProcessRow
                  process={one}
                  projectId={projectId}
                  isChosen={one.id === process}
                  onChoose={() => choose(one.id)}
                />
              </li>
            ))}
          </ul>
          {process ? (
            <ProcessOutput key={process} projectId={projectId} processId={process} onClose={() => choose(undefined)} />
          ) : null}
        </div>
      ) : null}
    </ProjectPage>
  )
}

type ProcessRowProps = { process: BackgroundProcess; projectId: string; isChosen: boolean; onChoose: () => void }

function ProcessRow({ process, projectId, isChosen, onChoose }: ProcessRowProps) {
  const task = useTask(projectId, process.taskId)
  return (
    <div className={classes('flex flex-wrap items-center gap-3 px-4 py-2', isChosen && 'bg-accent-soft')}>
      <ProcessState process={process} />
      <button
        type="button"
        aria-pressed={isChosen}
        onClick={onChoose}
        className="min-w-0 flex-1 basis-40 truncate text-left font-mono text-sm hover:underline"
      >
        {process.command}
      </button>
      {task ? (
        <Link
          to="/p/$projectId/t/$taskId"
          params={{ projectId, taskId: task.id }}
          className="min-w-0 max-w-60 truncate text-ink-2 hover:underline"
        >
          {task.title}
        </Link>
      ) : null}
      <Age at={process.startedAt} className="w-16 text-right text-ink-3 text-sm" />
      <Kill process={process} projectId={projectId} />
    </div>
  )
}

function ProcessState({ process }: { process: BackgroundProcess }) {
  if (process.isRunning) return <Badge tone="accent">running</Badge>
  if (process.exitCode === 0) return <Badge>ended</Badge>
  return <Badge tone="warn">{process.exitCode === null ? 'ended' : `exit ${process.exitCode}`}</Badge>
}

function Kill({ process, projectId }: { process: BackgroundProcess; projectId: string }) {
  const queryClient = useQueryClient()
  const kill = useMutation({
    mutationFn: () => client.killProcess({ projectId, processId: process.id }),
    onSuccess: () => {
      sayDone('Ended', process.command)
      return queryClient.invalidateQueries({ queryKey: ['processes', projectId] })
    },
  })
  if (!process.isRunning) return null
  return (
    <Button
      size="small"
      look="danger"
      isBusy={kill.isPending}
      onClick={() => kill.mutate()}
      aria-label={`Kill ${process.command}`}
    >
      Kill
    </Button>
  )
}

type ProcessOutputProps = { projectId: string; processId: string; onClose: () => void }

function ProcessOutput({ projectId, processId, onClose }: ProcessOutputProps) {
  const output = useQuery({
    queryKey: ['processes', projectId, processId],
    queryFn: () => client.readProcess({ projectId, processId }),
    refetchInterval: ({ state }) => (state.data?.isRunning === false ? false : readEveryMs),
  })
  const box = useRef<HTMLPreElement>(null)
  const text = output.data?.output ?? ''
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was printed last is what is looked for.
  useEffect(() => {
    const element = box.current
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight < element.clientHeight)
      element.scrollTop = element.scrollHeight
  }, [text])

  return (
    <section
      aria-label="Output"
      className="flex min-h-0 min-w-0 flex-1 flex-col border-l bg-sunken max-lg:border-t max-lg:border-l-0"
    >
      <header className="flex items-center gap-2 border-b px-3 py-1">
        <code className="min-w-0 flex-1 truncate text-sm">{output.data?.command ?? processId}</code>
        <Copy text={text} label="Copy the output" />
        <IconButton label="Close the output" size="small" onClick={onClose}>
          <X size={14} aria-hidden />
        </IconButton>
      </header>
      {output.isError ? <ErrorState error={output.error} onRetry={() => void output.refetch()} /> : null}
      <pre
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto whitespace-pre-wrap break-words p-3 font-mono text-sm"
      >
        {text || (output.isPending ? '' : 'Nothing printed yet.')}
      </pre>
    </section>
  )
}
