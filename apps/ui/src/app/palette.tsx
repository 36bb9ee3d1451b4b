import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronRight, MessageSquareText, Search } from 'lucide-react'
import {
  type KeyboardEvent,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { client } from '../live/client.ts'
import { useLive } from '../live/live.ts'
import { Key } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { StatusDot } from '../parts/status-dot.tsx'
import { markedParts } from '../search/marks.ts'
import { useActions } from './actions.ts'
import { showKeys } from './key-help.tsx'
import { matchScore } from './match.ts'

type Choice = { id: string; group: string; label: string; detail?: string; icon: ReactNode; keys?: string; run(): void }

const mostShown = 40

/** One box that reaches every action, every task and everything ever said. */
export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const listId = useId()
  const [typed, setTyped] = useState('')
  const [place, setPlace] = useState(0)
  const choices = useChoices(useDeferredValue(typed))
  const chosen = choices[Math.min(place, choices.length - 1)]
  useEffect(() => dialog.current?.showModal(), [])

  const run = (choice: Choice | undefined) => {
    if (!choice) return
    onClose()
    choice.run()
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step)
      setPlace((now) => (Math.min(now, choices.length - 1) + step + choices.length) % Math.max(choices.length, 1))
    else if (event.key === 'Enter') run(chosen)
    else return
    event.preventDefault()
  }

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the backdrop is a convenience; Escape does the same.
    <dialog
      ref={dialog}
      aria-label="Search or run a command"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
      className="mx-auto mt-[12vh] w-[calc(100vw-1.5rem)] max-w-xl rounded-lg border bg-raised shadow-lift max-sm:mt-3"
    >
      <div className="flex max-h-[70dvh] flex-col">
        <label className="flex items-center gap-2 border-b px-4">
          <Search size={16} aria-hidden className="text-ink-3" />
          <input
            role="combobox"
            aria-label="Command, task or words"
            aria-expanded
            aria-controls={listId}
            aria-activedescendant={chosen ? `${listId}-${chosen.id}` : undefined}
            className="h-12 flex-1 bg-transparent text-md focus-visible:outline-none"
            placeholder="Do something, go to a task, or find what was said"
            value={typed}
            onKeyDown={onKeyDown}
            onChange={(event) => {
              setTyped(event.target.value)
              setPlace(0)
            }}
          />
        </label>
        <div id={listId} role="listbox" aria-label="Choices" className="min-h-0 flex-1 overflow-auto p-1.5">
          {choices.map((choice, index) => (
            <Option
              key={choice.id}
              id={`${listId}-${choice.id}`}
              choice={choice}
              isChosen={choice === chosen}
              isFirstOfGroup={choices[index - 1]?.group !== choice.group}
              onPoint={() => setPlace(index)}
              onRun={() => run(choice)}
            />
          ))}
          {choices.length === 0 ? <p className="p-6 text-center text-ink-2">Nothing is called “{typed}”.</p> : null}
        </div>
      </div>
    </dialog>
  )
}

type OptionProps = {
  id: string
  choice: Choice
  isChosen: boolean
  isFirstOfGroup: boolean
  onPoint: () => void
  onRun: () => void
}

function Option({ id, choice, isChosen, isFirstOfGroup, onPoint, onRun }: OptionProps) {
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isChosen) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isChosen])

  return (
    <>
      {isFirstOfGroup ? (
        <div aria-hidden className="px-2.5 pt-2 pb-1 font-medium text-ink-3 text-xs">
          {choice.group}
        </div>
      ) : null}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the box above, as in every combobox. */}
      <div
        ref={row}
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={isChosen}
        onPointerMove={onPoint}
        onClick={onRun}
        className={classes(
          'flex min-h-8 cursor-pointer items-center gap-2.5 rounded-md px-2.5 pointer-coarse:min-h-11',
          isChosen && 'bg-accent-soft',
        )}
      >
        <span className="flex size-4 shrink-0 items-center justify-center text-ink-3">{choice.icon}</span>
        <span className="truncate">{choice.label}</span>
        {choice.detail ? <span className="max-w-[40%] shrink-0 truncate text-ink-3">{choice.detail}</span> : null}
        {choice.keys ? (
          <span className="ml-auto text-ink-2">
            <Key>{showKeys(choice.keys)}</Key>
          </span>
        ) : null}
      </div>
    </>
  )
}

function useChoices(typed: string): Choice[] {
  const actions = useActionChoices(typed)
  const tasks = useTaskChoices(typed)
  const said = useSaidChoices(typed)
  return useMemo(() => [...actions, ...tasks, ...said].slice(0, mostShown), [actions, tasks, said])
}

function useActionChoices(typed: string): Choice[] {
  const actions = useActions((state) => state.shown)
  return useMemo(() => {
    const wanted = actions.filter(({ id }) => id !== 'palette')
    const shown =
      typed.trim() === '' ? wanted : best(wanted, typed, (action) => `${action.label} ${action.words ?? ''}`)
    // What is in front comes first.
    const groups = typed.trim() === '' ? ['This task', 'Project', 'Go to', 'Matrix', 'Tabs'] : []
    const order = (group: string) => (groups.includes(group) ? groups.indexOf(group) : -1)
    return shown
      .toSorted((one, other) => order(one.group) - order(other.group))
      .map((action) => ({
        id: action.id,
        group: typed.trim() === '' ? action.group : 'Commands',
        label: action.label,
        icon: <ChevronRight size={14} aria-hidden />,
        ...(action.keys ? { keys: action.keys } : {}),
        run: action.run,
      }))
  }, [actions, typed])
}

function useTaskChoices(typed: string): Choice[] {
  const tasks = useLive((live) => live.tasks)
  const projects = useLive((live) => live.projects)
  const navigate = useNavigate()
  return useMemo(() => {
    if (typed.trim() === '') return []
    const all = Object.values(tasks).flatMap((ofProject) => Object.values(ofProject).filter(({ folder }) => !folder))
    return best(all, typed, ({ title, branch }) => `${title} ${branch ?? ''}`)
      .slice(0, 12)
      .map((task) => ({
        id: `${task.projectId}-${task.id}`,
        group: 'Tasks',
        label: task.title,
        detail: projects[task.projectId]?.name ?? '',
        icon: <StatusDot task={task} silent />,
        run: () =>
          void navigate({ to: '/p/$projectId/t/$taskId', params: { projectId: task.projectId, taskId: task.id } }),
      }))
  }, [tasks, projects, typed, navigate])
}

function useSaidChoices(typed: string): Choice[] {
  const q = typed.trim()
  const navigate = useNavigate()
  const tasks = useLive((live) => live.tasks)
  const { data } = useQuery({
    queryKey: ['search', 'palette', q],
    queryFn: ({ signal }) => client.search({ q, limit: 6 }, { signal }),
    enabled: q.length > 2,
  })
  return useMemo(() => {
    if (q.length < 3) return []
    const everything: Choice = {
      id: 'search',
      group: 'Everything ever said',
      label: `Search for “${q}”`,
      icon: <Search size={14} aria-hidden />,
      run: () => void navigate({ to: '/search', search: { q } }),
    }
    const hits = (data?.hits ?? []).map(({ projectId, taskId, seq, snippet }) => ({
      id: `${taskId}-${seq}`,
      group: everything.group,
      label: markedParts(snippet)
        .map(({ text }) => text)
        .join('')
        .slice(0, 200),
      detail: tasks[projectId]?.[taskId]?.title ?? '',
      icon: <MessageSquareText size={14} aria-hidden />,
      run: () => void navigate({ to: '/p/$projectId/t/$taskId', params: { projectId, taskId }, search: { seq } }),
    }))
    return [...hits, everything]
  }, [q, data, tasks, navigate])
}

function best<Item>(items: readonly Item[], typed: string, textOf: (item: Item) => string): Item[] {
  return items
    .map((item) => ({ item, score: matchScore(textOf(item), typed) }))
    .filter((scored): scored is { item: Item; score: number } => scored.score !== undefined)
    .sort((one, other) => other.score - one.score)
    .map(({ item }) => item)
}
