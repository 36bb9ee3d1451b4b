import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../live/client.ts'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { ErrorState } from '../parts/states.tsx'

/** Registers a repository by its path on the daemon's machine. */
export function AddProject({ onClose }: { onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Add a project"
      about="A git repository on the machine where the daemon runs."
    >
      <AddProjectForm onDone={onClose} />
    </Dialog>
  )
}

export function AddProjectForm({ onDone }: { onDone?: () => void }) {
  const navigate = useNavigate()
  const [path, setPath] = useState('')
  const add = useMutation({
    mutationFn: () => client.registerProject({ body: { path: path.trim() } }),
    onSuccess: ({ id }) => {
      onDone?.()
      void navigate({ to: '/p/$projectId', params: { projectId: id } })
    },
    meta: { quiet: true },
  })

  return (
    <form
      className="flex flex-col gap-3 text-left"
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate()
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="font-medium">Path of the repository</span>
        <span className="flex gap-2">
          <Field
            required
            autoFocus
            spellCheck={false}
            className="font-mono"
            placeholder="/home/you/code/project"
            value={path}
            onChange={(event) => setPath(event.target.value)}
          />
          <Button type="submit" look="primary" isBusy={add.isPending} disabled={path.trim() === ''}>
            Add
          </Button>
        </span>
      </label>
      {add.error ? (
        <div className="-mx-4">
          <ErrorState error={add.error} />
        </div>
      ) : null}
      <p className="text-ink-2">Or, in the repository itself:</p>
      <p className="flex items-center justify-between rounded-md bg-sunken py-1 pr-1 pl-3 font-mono">
        matrix init <Copy text="matrix init" label="Copy the command" />
      </p>
      <p className="text-ink-3 text-sm">
        Agents work in worktrees of their own. Your checkout is not touched until you merge.
      </p>
    </form>
  )
}
