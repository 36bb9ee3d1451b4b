import type { QueueMessage } from '@matrix/protocol'
import { type Display, displayMessage } from '@matrix/protocol/display'
import { ChevronRight } from 'lucide-react'
import { memo } from 'react'
import { classes } from '../parts/classes.ts'
import { useFold } from '../parts/fold.ts'
import { Markdown } from '../parts/markdown.tsx'
import { BodyView } from './body-view.tsx'

/** A message where the agent read it: a person's own words as they are, what others reported folded to one line. */
export const MessageView = memo(function MessageView({ message }: { message: QueueMessage }) {
  const shown = displayMessage(message, { maxLength: 200_000 })
  if (shown.speaker === 'user' && shown.weight === 'main')
    return (
      <article className="my-2 rounded-lg bg-accent-soft px-3 py-2">
        <p className="font-medium text-accent text-sm">{shown.title}</p>
        <MessageBodies shown={shown} />
      </article>
    )
  return <Report message={message} shown={shown} />
})

function Report({ message, shown }: { message: QueueMessage; shown: Display }) {
  const [isOpen, toggle] = useFold(`message/${message.id}`)
  return (
    <article className="my-1 rounded-md border">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={toggle}
        className="flex min-h-8 w-full items-center gap-2 px-2 text-left pointer-coarse:min-h-11"
      >
        <span aria-hidden className={classes('h-4 w-1 shrink-0 rounded-sm', stripes[shown.tone])} />
        <span className="max-w-[50%] shrink-0 truncate font-medium">{shown.title}</span>
        <span className="min-w-0 flex-1 truncate text-ink-2">{shown.summary}</span>
        {shown.bodies.length > 0 ? (
          <ChevronRight size={14} aria-hidden className={classes('shrink-0 text-ink-3', isOpen && 'rotate-90')} />
        ) : null}
      </button>
      {isOpen ? (
        <div className="border-t px-3 py-2">
          <MessageBodies shown={shown} />
        </div>
      ) : null}
    </article>
  )
}

const stripes: Record<Display['tone'], string> = {
  plain: 'bg-line-strong',
  muted: 'bg-line',
  good: 'bg-ok',
  warning: 'bg-warn',
  bad: 'bg-bad',
}

export function MessageBodies({ shown }: { shown: Display }) {
  return shown.bodies.map((body, index) =>
    body.kind === 'text' ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never move.
      <Markdown key={index} text={body.text} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above.
      <BodyView key={index} body={body} />
    ),
  )
}
