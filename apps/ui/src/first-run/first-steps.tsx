import { AddProjectForm } from './add-project.tsx'

/** What somebody sees who has no project yet. */
export function FirstSteps() {
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto flex max-w-xl flex-col gap-6 px-6 py-16">
        <div>
          <h1 className="font-semibold text-2xl">Give agents a repository</h1>
          <p className="mt-2 text-ink-2 text-md">
            Matrix runs a tree of coding agents on one git repository. You say what you want; they split the work, each
            in a worktree of its own, and come back with questions and branches to review.
          </p>
        </div>
        <div className="rounded-lg border bg-surface p-4">
          <AddProjectForm />
        </div>
      </div>
    </div>
  )
}
