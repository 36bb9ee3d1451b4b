import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../live/client.ts'
import { useProject, useTask } from '../live/live.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field, TextArea } from '../parts/field.tsx'

type NewTaskProps = { projectId: string; parentId: string | undefined; onClose: () => void }
type Form = { title: string; description: string; budget: string; isFolder: boolean }

const empty: Form = { title: '', description: '', budget: '', isFolder: false }

/** Adds a task, and starts its agent at once if asked to. */
export function NewTask({ projectId, parentId, onClose }: NewTaskProps) {
  const navigate = useNavigate()
  const project = useProject(projectId)
  const parent = useTask(projectId, parentId ?? project?.rootTaskId ?? undefined)
  const [form, setForm] = useState(empty)
  const create = useMutation({
    mutationFn: (isStarted: boolean) => createTask(projectId, parent?.id, form, isStarted),
    onSuccess: (task) => {
      onClose()
      if (!task.folder) void navigate({ to: '/p/$projectId/t/$taskId', params: { projectId, taskId: task.id } })
    },
  })
  const change = (part: Partial<Form>) => setForm((now) => ({ ...now, ...part }))
  const isReady = form.title.trim() !== ''

  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={form.isFolder ? 'New folder' : 'New task'}
      about={parent ? `Below “${parent.title}”` : undefined}
      actions={
        <>
          <Button disabled={!isReady} isBusy={create.isPending} onClick={() => create.mutate(false)}>
            {form.isFolder ? 'Add the folder' : 'Add as draft'}
          </Button>
          {form.isFolder ? null : (
            <Button look="primary" disabled={!isReady} isBusy={create.isPending} onClick={() => create.mutate(true)}>
              Add and start
            </Button>
          )}
        </>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) create.mutate(!form.isFolder)
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="font-medium">Title</span>
          <Field
            autoFocus
            value={form.title}
            maxLength={500}
            onChange={(event) => change({ title: event.target.value })}
          />
        </label>
        {form.isFolder ? null : (
          <>
            <label className="flex flex-col gap-1">
              <span className="font-medium">What is to be done</span>
              <TextArea
                rows={6}
                value={form.description}
                placeholder="Say what should be true when it is done, and where to look."
                onChange={(event) => change({ description: event.target.value })}
              />
            </label>
            <label className="flex flex-col gap-1">
              <span className="font-medium">Budget in dollars</span>
              <Field
                inputMode="decimal"
                className="max-w-40"
                value={form.budget}
                placeholder="None of its own"
                onChange={(event) => change({ budget: event.target.value.replace(/[^\d.]/g, '') })}
              />
            </label>
          </>
        )}
        <label className="flex items-center gap-2 text-ink-2">
          <input
            type="checkbox"
            checked={form.isFolder}
            onChange={(event) => change({ isFolder: event.target.checked })}
          />
          Only a folder to group tasks
        </label>
      </form>
    </Dialog>
  )
}

async function createTask(projectId: string, parentId: string | undefined, form: Form, isStarted: boolean) {
  const { isFolder, title, description, budget } = form
  const task = await client.createTask({
    projectId,
    body: {
      title,
      ...(parentId ? { parentId } : {}),
      ...(isFolder ? { folder: true } : { description, status: isStarted ? 'pending' : 'draft' }),
      ...(budget && !isFolder ? { budgetUsd: Number(budget) } : {}),
    },
  })
  if (isStarted) await client.sendMessage({ projectId, taskId: task.id, body: { text: description.trim() || title } })
  return task
}
