import type { TaskView } from '@matrix/protocol/http'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { GitFork, PanelRight, Play } from 'lucide-react'
import { useCallback } from 'react'
import { MissingPage } from '../app/missing-page.tsx'
import { useTask } from '../live/live.ts'
import { useSession } from '../live/session.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Composer } from './composer.tsx'
import { setDraft } from './draft.ts'
import { SidePanel } from './side-panel.tsx'
import { runCommand } from './task-commands.ts'
import { TaskHeader } from './task-header.tsx'
import { TaskNeeds } from './task-needs.tsx'
import { Transcript } from './transcript.tsx'

/** A task: what was said and done, what is being said, and the way to say something. */
export function TaskPage() {
  const { projectId, taskId } = useParams({ from: '/p/$projectId/t/$taskId' })
  const task = useTask(projectId, taskId)
  if (!task) return <MissingPage />
  return <LoadedTask key={task.id} task={task} />
}

function LoadedTask({ task }: { task: TaskView }) {
  const place = { projectId: task.projectId, taskId: task.id }
  const { seq, panel } = useSearch({ from: '/p/$projectId/t/$taskId' })
  const navigate = useNavigate({ from: '/p/$projectId/t/$taskId' })

  const onPanel = useCallback(
    (next: string | undefined) =>
      void navigate({
        search: ({ panel: _, ...rest }) => (next === undefined ? { ...rest, panel: 'none' } : { ...rest, panel: next }),
        replace: true,
      }),
    [navigate],
  )
  // Wide enough for both, the panel is there unless it was closed; on a phone only when it was asked for.
  const isWide = window.matchMedia('(min-width: 1024px)').matches
  const shownPanel = panel === 'none' ? undefined : (panel ?? (isWide ? 'about' : undefined))

  return (
    <div className="flex h-full flex-col">
      <TaskHeader task={task}>
        {task.activity === 'stopped' ? (
          <Button size="small" icon={<Play size={12} aria-hidden />} onClick={() => void runCommand('resume', place)}>
            Resume
          </Button>
        ) : null}
        <IconButton
          label="Fork: a new task that knows what this one knows"
          size="small"
          onClick={() => void runCommand('fork', place)}
        >
          <GitFork size={14} aria-hidden />
        </IconButton>
        <IconButton
          label={shownPanel ? 'Hide the panel' : 'Show the panel'}
          size="small"
          aria-pressed={shownPanel !== undefined}
          onClick={() => onPanel(shownPanel ? undefined : 'about')}
        >
          <PanelRight size={14} aria-hidden />
        </IconButton>
      </TaskHeader>
      <div className="relative flex min-h-0 flex-1">
        <div className="flex min-w-0 flex-1 flex-col">
          <Conversation task={task} seq={seq} />
          <TaskNeeds task={task} />
          <Composer place={place} task={task} />
        </div>
        {shownPanel ? <SidePanel task={task} panel={shownPanel} onPanel={onPanel} /> : null}
      </div>
    </div>
  )
}

/** By itself, since it is drawn again with every word that the agent says. */
function Conversation({ task, seq }: { task: TaskView; seq: number | undefined }) {
  const session = useSession(task.projectId, task.id)
  const onEdit = useCallback((text: string) => setDraft(task.id, { text, images: [] }), [task.id])
  return <Transcript session={session} task={task} seq={seq} onEdit={onEdit} />
}
