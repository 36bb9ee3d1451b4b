import type { SkillDetail, SkillState, SkillView, TaskView } from '@matrix/protocol/http'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { ErrorState, Loading } from '../parts/states.tsx'

const states: Record<SkillState, { label: string; tone: Tone; means: string }> = {
  ready: { label: 'Ready', tone: 'ok', means: 'Agents can read it and run its scripts in the sandbox.' },
  unapproved: { label: 'Not approved', tone: 'warn', means: 'It came with the repository.' },
  changed: { label: 'Changed', tone: 'warn', means: 'It is another than the one you approved.' },
  invalid: { label: 'Cannot be used', tone: 'bad', means: 'Its files have to be corrected first.' },
}

/** The skills of the user and the repository: what they say, which are approved, and which hold this task. */
export function SkillsSection({ task }: { task: TaskView }) {
  const { projectId } = task
  const skills = useQuery({ queryKey: ['skills', projectId], queryFn: () => client.listSkills({ projectId }) })
  if (!skills.data || skills.data.length === 0) return null
  return (
    <section aria-label="Skills" className="overflow-hidden rounded-lg border bg-surface">
      <header className="border-b px-3 py-2">
        <h3 className="font-semibold">Skills</h3>
      </header>
      <ul className="divide-y">
        {skills.data.map((skill) => (
          <li key={skill.name} className="px-3 py-2">
            <SkillRow skill={skill} task={task} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function SkillRow({ skill, task }: { skill: SkillView; task: TaskView }) {
  const { name, description, folder, state, notes, allows } = skill
  const [isOpen, setOpen] = useState(false)
  const { label, tone, means } = states[state]
  return (
    <div className="flex flex-col gap-1">
      <p className="flex flex-wrap items-center gap-2">
        <span className="break-all font-medium font-mono text-sm">{name}</span>
        <Badge tone={tone} title={means}>
          {label}
        </Badge>
        <span className="break-all text-ink-3 text-sm">{folder}</span>
        <span className="flex-1" />
        {state === 'invalid' ? null : (
          <Button size="small" look="quiet" aria-expanded={isOpen} onClick={() => setOpen((before) => !before)}>
            {isOpen ? `Hide ${name}` : state === 'ready' ? `Show ${name}` : `Review ${name}`}
          </Button>
        )}
        {state === 'ready' ? <Attach name={name} task={task} /> : null}
      </p>
      <p className="break-words text-ink-2 text-sm">{state === 'invalid' ? notes[0] : description}</p>
      {allows ? <p className="break-words text-ink-3 text-sm">Allows {allows.join(', ') || 'no tool'}</p> : null}
      {isOpen ? <SkillFiles name={name} task={task} /> : null}
    </div>
  )
}

/** Holds the task, and all below it, to the tools of a skill. */
function Attach({ name, task }: { name: string; task: TaskView }) {
  const { skills = [] } = task
  const isAttached = skills.includes(name)
  const change = useMutation({
    mutationFn: () => {
      const next = isAttached ? skills.filter((each) => each !== name) : [...skills, name]
      return client.updateTask({
        projectId: task.projectId,
        taskId: task.id,
        body: { skills: next.length > 0 ? next : null },
      })
    },
    onSuccess: () =>
      sayDone(isAttached ? `${name} is detached` : `${name} is attached`, 'This counts for the next call.'),
  })
  return (
    <Button
      size="small"
      look={isAttached ? 'primary' : 'plain'}
      aria-pressed={isAttached}
      isBusy={change.isPending}
      onClick={() => change.mutate()}
    >
      {isAttached ? `Detach ${name}` : `Attach ${name}`}
    </Button>
  )
}

function SkillFiles({ name, task: { projectId } }: { name: string; task: TaskView }) {
  const queryClient = useQueryClient()
  const skill = useQuery({ queryKey: ['skill', projectId, name], queryFn: () => client.getSkill({ projectId, name }) })
  const approve = useMutation({
    mutationFn: (digest: string) => client.approveSkill({ projectId, name, body: { digest } }),
    onSuccess: () => sayDone(`${name} is approved`, 'Agents can use it as it is now.'),
    // After a change in between, what is there now is shown instead.
    onSettled: () => Promise.all(['skills', 'skill'].map((key) => queryClient.invalidateQueries({ queryKey: [key] }))),
  })
  if (skill.isPending) return <Loading label="Reading the skill" />
  if (skill.isError) return <ErrorState error={skill.error} onRetry={() => void skill.refetch()} />
  const { files, state, digest } = skill.data
  return (
    <div className="flex flex-col gap-2">
      {files.map((file) => (
        <SkillFile key={file.path} file={file} />
      ))}
      {approve.isError ? <p className="text-bad">{approve.error.message}</p> : null}
      {state === 'ready' || digest === null ? null : (
        <Button look="primary" className="self-start" isBusy={approve.isPending} onClick={() => approve.mutate(digest)}>
          Approve {name}
        </Button>
      )}
    </div>
  )
}

function SkillFile({ file: { path, bytes, change, text, difference } }: { file: SkillDetail['files'][number] }) {
  return (
    <div className="rounded-md border">
      <p className="flex flex-wrap items-center gap-2 border-b px-2 py-1">
        <span className="break-all font-mono text-sm">{path}</span>
        {change === 'same' ? null : <Badge tone="warn">{change}</Badge>}
      </p>
      {difference ? (
        <p className="border-b bg-warn-soft px-2 py-1 text-sm [overflow-wrap:anywhere]">{difference}</p>
      ) : null}
      {change === 'removed' ? null : (
        <pre className="max-h-80 overflow-auto whitespace-pre-wrap px-2 py-1 text-sm [overflow-wrap:anywhere]">
          {text ?? `${bytes} bytes`}
        </pre>
      )}
    </div>
  )
}
