import { Pencil, Trash2 } from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import { TextArea } from '../parts/field.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { type Anchor, formatAnchor, type ReviewComment } from './review-comment.ts'

type CommentCardProps = { comment: ReviewComment; onChange: (text: string) => void; onRemove: () => void }

/** A comment that waits to be sent with the others. */
export function CommentCard({ comment, onChange, onRemove }: CommentCardProps) {
  const [isEditing, setEditing] = useState(false)
  if (isEditing)
    return (
      <CommentEditor
        anchor={comment}
        text={comment.text}
        onCancel={() => setEditing(false)}
        onSave={(text) => {
          setEditing(false)
          onChange(text)
        }}
      />
    )
  return (
    <article
      aria-label={`Comment on ${formatAnchor(comment)}`}
      className="mx-3 my-2 max-w-3xl rounded-lg border bg-raised px-3 py-2"
    >
      <header className="flex items-center gap-2 text-ink-3 text-sm">
        <span className="min-w-0 flex-1 truncate">{formatAnchor(comment)} · not sent yet</span>
        <IconButton label="Edit the comment" size="small" onClick={() => setEditing(true)}>
          <Pencil size={12} aria-hidden />
        </IconButton>
        <IconButton label="Remove the comment" size="small" onClick={onRemove}>
          <Trash2 size={12} aria-hidden />
        </IconButton>
      </header>
      <Markdown text={comment.text} />
    </article>
  )
}

type CommentEditorProps = { anchor: Anchor; text?: string; onSave: (text: string) => void; onCancel: () => void }

export function CommentEditor({ anchor, text: first = '', onSave, onCancel }: CommentEditorProps) {
  const [text, setText] = useState(first)
  const save = () => {
    if (text.trim() !== '') onSave(text.trim())
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onCancel()
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div className="mx-3 my-2 max-w-3xl rounded-lg border border-accent bg-raised p-2 font-sans">
      <p className="mb-1 text-ink-3 text-sm">{formatAnchor(anchor)}</p>
      <TextArea
        autoFocus
        rows={3}
        aria-label={`Comment on ${formatAnchor(anchor)}`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="mt-2 flex justify-end gap-2">
        <Button size="small" look="quiet" onClick={onCancel} shortcut="Esc">
          Cancel
        </Button>
        <Button size="small" look="primary" disabled={text.trim() === ''} onClick={save} shortcut="Ctrl ↵">
          Add comment
        </Button>
      </div>
    </div>
  )
}
