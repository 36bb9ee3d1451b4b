import { type CommandName, type Image, parseComposed, slashCommands, suggestCommands } from '@matrix/protocol'
import type { TaskView } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { ImagePlus, SendHorizontal, Square, X } from 'lucide-react'
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { sayFailure } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { failure } from '../parts/failure.ts'
import { readImages } from './composer-images.ts'
import { type Draft, setDraft, useDraft } from './draft.ts'
import { runCommand, type TaskPlace } from './task-commands.ts'

type ComposerProps = { place: TaskPlace; task: TaskView }

/** Where words for the agent are written. It is read when the agent gets to it, also while it works. */
export function Composer({ place, task }: ComposerProps) {
  const draft = useDraft(task.id)
  const onChange = (next: Draft) => setDraft(task.id, next)
  const field = useRef<HTMLTextAreaElement>(null)
  const [isDropping, setDropping] = useState(false)
  const [chosen, setChosen] = useState(0)
  const listId = useId()
  const suggestions = suggestCommands(draft.text)
  const pick = suggestions[Math.min(chosen, suggestions.length - 1)]
  const send = useSend(place, () => onChange({ text: '', images: [] }))
  useGrowing(field, draft.text)

  const submit = () => {
    const composed = parseComposed(draft.text)
    if (composed.kind === 'command') {
      onChange({ ...draft, text: '' })
      void runCommand(composed.name, place, composed.argument)
    } else if (composed.kind === 'unknown command')
      sayFailure(failure(`There is no command /${composed.name}.`, 'Two slashes send it as a message.'))
    // The daemon reads the slashes of a message by itself, but not beside images.
    else if (composed.text !== '' || draft.images.length > 0)
      send.mutate({ ...draft, text: draft.images.length > 0 ? composed.text : draft.text.trim() })
  }

  const complete = (name: CommandName) => {
    const hasArgument = slashCommands[name].argument !== undefined
    onChange({ ...draft, text: hasArgument ? `/${name} ` : '' })
    if (!hasArgument) void runCommand(name, place)
    field.current?.focus()
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (suggestions.length > 0 && pick) {
      if (event.key === 'ArrowDown') setChosen((chosen + 1) % suggestions.length)
      else if (event.key === 'ArrowUp') setChosen((chosen + suggestions.length - 1) % suggestions.length)
      else if (event.key === 'Tab' || event.key === 'Enter') complete(pick)
      else if (event.key === 'Escape') onChange({ ...draft, text: '' })
      else return
      event.preventDefault()
      return
    }
    // On a touch keyboard Enter is the only way to a new line.
    const isPlainEnter = event.key === 'Enter' && !event.shiftKey && !window.matchMedia('(pointer: coarse)').matches
    if (isPlainEnter || (event.key === 'Enter' && (event.ctrlKey || event.metaKey))) {
      event.preventDefault()
      submit()
    }
  }

  const addFiles = async (files: Iterable<File>) => {
    const { images, refused } = await readImages(files, draft.images.length)
    for (const reason of refused) sayFailure(failure(reason, 'Nothing else of what you wrote is lost.'))
    if (images.length > 0) onChange({ ...draft, images: [...draft.images, ...images] })
  }

  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return
    event.preventDefault()
    void addFiles(event.clipboardData.files)
  }

  const onDrop = (event: DragEvent) => {
    event.preventDefault()
    setDropping(false)
    void addFiles(event.dataTransfer.files)
  }

  const isLive = task.activity === 'working' || task.activity === 'starting' || task.activity === 'waiting'
  return (
    <form
      aria-label="Message to the agent"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onDragOver={(event) => {
        event.preventDefault()
        setDropping(true)
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={onDrop}
      className="relative mx-auto w-full max-w-4xl px-4 pt-1 pb-3"
    >
      {suggestions.length > 0 ? <Suggestions id={listId} names={suggestions} chosen={pick} onPick={complete} /> : null}
      <div
        className={classes(
          'rounded-lg border border-line-strong bg-surface focus-within:border-accent',
          isDropping && 'border-accent border-dashed bg-accent-soft',
        )}
      >
        <Thumbnails
          images={draft.images}
          onRemove={(index) => onChange({ ...draft, images: draft.images.toSpliced(index, 1) })}
        />
        <textarea
          ref={field}
          data-composer
          rows={1}
          value={draft.text}
          placeholder={placeholderOf(task)}
          aria-label="Message"
          aria-controls={suggestions.length > 0 ? listId : undefined}
          aria-autocomplete="list"
          aria-activedescendant={pick ? `${listId}-${pick}` : undefined}
          onChange={(event) => {
            setChosen(0)
            onChange({ ...draft, text: event.target.value })
          }}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          className="block max-h-60 w-full resize-none bg-transparent px-3 pt-2 text-md outline-none pointer-coarse:text-lg"
        />
        <div className="flex items-center gap-1 px-2 pb-2">
          <AddImages onFiles={addFiles} />
          <p className="min-w-0 flex-1 truncate text-ink-3 text-sm max-sm:hidden">
            Enter sends · Shift+Enter for a new line · / for commands
          </p>
          <span className="flex-1 sm:hidden" />
          {isLive ? (
            <Button
              look="quiet"
              icon={<Square size={12} aria-hidden fill="currentColor" />}
              onClick={() => void runCommand('stop', place)}
            >
              Stop
            </Button>
          ) : null}
          <Button
            type="submit"
            look="primary"
            isBusy={send.isPending}
            disabled={draft.text.trim() === '' && draft.images.length === 0}
            icon={<SendHorizontal size={14} aria-hidden />}
          >
            Send
          </Button>
        </div>
      </div>
    </form>
  )
}

function placeholderOf(task: TaskView): string {
  if (task.activity === 'working') return 'Say something; the agent reads it after its current step'
  if (task.needs.includes('approval')) return 'The agent waits for your decision, and reads a message after it'
  if (task.activity === 'waiting') return 'The agent waits; a message wakes it'
  if (task.activity === 'stopped') return 'Stopped; a message lets it go on'
  return 'A message starts the agent'
}

/** The same words are sent under the same id until they have arrived, so that trying again cannot send them twice. */
function useSend({ projectId, taskId }: TaskPlace, onSent: () => void) {
  const request = useRef<{ id: string; draft: string }>(undefined)
  return useMutation({
    mutationFn: ({ text, images }: Draft) => {
      const draft = JSON.stringify([taskId, text, images.length])
      if (request.current?.draft !== draft) request.current = { id: crypto.randomUUID(), draft }
      const requestId = request.current.id
      return client.sendMessage({
        projectId,
        taskId,
        body: { text, requestId, ...(images.length > 0 ? { images: [...images] } : {}) },
      })
    },
    onSuccess: () => {
      request.current = undefined
      onSent()
    },
  })
}

function useGrowing(field: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useEffect(() => {
    const element = field.current
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight}px`
  }, [field, text])
}

type SuggestionsProps = {
  id: string
  names: readonly CommandName[]
  chosen: CommandName | undefined
  onPick: (name: CommandName) => void
}

function Suggestions({ id, names, chosen, onPick }: SuggestionsProps) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Commands"
      className="absolute right-4 bottom-full left-4 z-20 mb-1 overflow-hidden rounded-lg border bg-raised py-1 shadow-lift"
    >
      {names.map((name) => (
        <button
          key={name}
          id={`${id}-${name}`}
          type="button"
          role="option"
          tabIndex={-1}
          aria-selected={name === chosen}
          onClick={() => onPick(name)}
          className={classes('flex w-full gap-3 px-3 py-1 text-left hover:bg-hover', name === chosen && 'bg-hover')}
        >
          <span className="w-24 shrink-0 font-mono text-accent">/{name}</span>
          <span className="min-w-0 truncate text-ink-2">
            {slashCommands[name].argument ? `<${slashCommands[name].argument}> ` : ''}
            {slashCommands[name].summary}
          </span>
        </button>
      ))}
    </div>
  )
}

function Thumbnails({ images, onRemove }: { images: readonly Image[]; onRemove: (index: number) => void }) {
  if (images.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-2 px-3 pt-2">
      {images.map(({ mediaType, data }, index) => (
        <li key={data.slice(0, 64) + data.length} className="relative">
          <img
            src={`data:${mediaType};base64,${data}`}
            alt={`To send: ${index + 1}`}
            className="size-16 rounded-md border object-cover"
          />
          <IconButton
            label={`Remove picture ${index + 1}`}
            size="small"
            look="plain"
            className="-top-2 -right-2 absolute rounded-full"
            onClick={() => onRemove(index)}
          >
            <X size={12} aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  )
}

function AddImages({ onFiles }: { onFiles: (files: Iterable<File>) => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <IconButton label="Add pictures" onClick={() => input.current?.click()}>
        <ImagePlus size={15} aria-hidden />
      </IconButton>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept="image/png,image/jpeg,image/gif,image/webp"
        onChange={async (event) => {
          await onFiles([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
    </>
  )
}
