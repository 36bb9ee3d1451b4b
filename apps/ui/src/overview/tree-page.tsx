import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useMemo } from 'react'
import { useOverlay } from '../app/overlay.ts'
import { usePreferences } from '../app/preferences.ts'
import { ProjectPage } from '../app/project-page.tsx'
import { useProject, useTasks } from '../live/live.ts'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Field } from '../parts/field.tsx'
import { Empty } from '../parts/states.tsx'
import { TaskTree } from './task-tree.tsx'
import { type TreeFilter, treeFilters, treeRows } from './tree-rows.ts'

const filterWords: Record<TreeFilter, string> = {
  all: 'All',
  needs: 'Needs you',
  working: 'Working',
  open: 'Not finished',
  favourites: 'Favourites',
}

/** The tasks of a project as they hang together, with how each one is. */
export function TreePage() {
  const { projectId = '' } = useParams({ strict: false })
  const project = useProject(projectId)
  const tasks = useTasks(projectId)
  const { find, show, change } = useTreeFilter()
  const collapsed = usePreferences((preferences) => preferences.collapsed)
  const favourites = usePreferences((preferences) => preferences.favourites)
  const rootTaskId = project?.rootTaskId ?? null
  const rows = useMemo(
    () => treeRows(tasks, rootTaskId, { collapsed, favourites, find, show }),
    [tasks, rootTaskId, collapsed, favourites, find, show],
  )
  const isFiltered = find !== '' || show !== 'all'

  return (
    <ProjectPage actions={<NewTaskButton projectId={projectId} />}>
      <div className="flex h-full flex-col">
        <div className="flex shrink-0 flex-wrap items-center gap-2 border-b px-4 py-2">
          <Field
            type="search"
            aria-label="Find a task by title, branch or what it does"
            placeholder="Find a task"
            className="sm:max-w-56"
            value={find}
            onChange={(event) => change({ find: event.target.value })}
          />
          <fieldset className="flex gap-1 overflow-x-auto">
            <legend className="sr-only">Show</legend>
            {treeFilters.map((filter) => (
              <button
                key={filter}
                type="button"
                aria-pressed={show === filter}
                onClick={() => change({ show: filter })}
                className={classes(
                  'h-7 shrink-0 rounded-md px-2 pointer-coarse:h-9',
                  show === filter ? 'bg-accent-soft font-medium text-accent' : 'text-ink-2 hover:bg-hover',
                )}
              >
                {filterWords[filter]}
              </button>
            ))}
          </fieldset>
        </div>
        {rows.length > 0 ? (
          <TaskTree projectId={projectId} tasks={tasks} rows={rows} isMovable={!isFiltered} />
        ) : (
          <Empty title={isFiltered ? 'No task is like that' : 'No task yet'}>
            {isFiltered ? 'Change what is looked for.' : 'Press c to add the first one.'}
          </Empty>
        )}
      </div>
    </ProjectPage>
  )
}

function NewTaskButton({ projectId }: { projectId: string }) {
  const show = useOverlay((overlay) => overlay.show)
  return (
    <Button
      look="primary"
      size="small"
      icon={<Plus size={14} aria-hidden />}
      shortcut="c"
      onClick={() => show({ kind: 'new-task', projectId, parentId: undefined })}
    >
      New task
    </Button>
  )
}

/** What is looked for stands in the address, so that a look can be shared. */
function useTreeFilter() {
  const search = useSearch({ strict: false })
  const navigate = useNavigate()
  const { projectId = '' } = useParams({ strict: false })
  const find = search.find ?? ''
  const show = treeFilters.find((filter) => filter === search.show) ?? 'all'
  const change = (part: { find?: string; show?: TreeFilter }) => {
    const next = { find, show, ...part }
    void navigate({
      to: '/p/$projectId',
      params: { projectId },
      search: { ...(next.find ? { find: next.find } : {}), ...(next.show === 'all' ? {} : { show: next.show }) },
      replace: true,
    })
  }
  return { find, show, change }
}
