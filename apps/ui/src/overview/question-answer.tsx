import type { Attention } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Button } from '../parts/button.tsx'
import { TextArea } from '../parts/field.tsx'
import { Markdown } from '../parts/markdown.tsx'

/** The question, the answers that were offered, and room for another one. */
export function QuestionAnswer({ item }: { item: Attention }) {
  const { id, projectId, options = [], taskTitle } = item
  const box = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState('')
  const { mutate, isPending } = useMutation({
    mutationFn: (answer: string) => client.answerQuestion({ projectId, questionId: id, body: { answer } }),
    onSuccess: () => sayDone('Answered', taskTitle),
  })

  const offered = options.join('\n')
  const actions = useMemo((): Action[] => {
    const choices = offered === '' ? [] : offered.split('\n').slice(0, 9)
    return [
      { id: 'question.write', label: 'Write an answer', group: 'Inbox', keys: 'r', run: () => box.current?.focus() },
      ...choices.map((option, index) => ({
        id: `question.${index}`,
        label: `Answer “${option}”`,
        group: 'Inbox',
        keys: String(index + 1),
        run: () => mutate(option),
      })),
    ]
  }, [offered, mutate])
  useOffer(actions)

  return (
    <div className="flex flex-col gap-3">
      <Markdown text={item.text} />
      {options.length > 0 ? (
        <div className="flex flex-wrap gap-2">
          {options.map((option, index) => (
            <Button
              key={option}
              isBusy={isPending}
              onClick={() => mutate(option)}
              className="h-auto! min-h-8 max-w-full whitespace-normal! py-1 text-left"
              {...(index < 9 ? { shortcut: String(index + 1) } : {})}
            >
              {option}
            </Button>
          ))}
        </div>
      ) : null}
      <form
        className="flex items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim()) mutate(text)
        }}
      >
        <TextArea
          ref={box}
          rows={2}
          aria-label="Your answer"
          placeholder={options.length > 0 ? 'Or answer in your own words (r)' : 'Your answer (r)'}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
        <Button type="submit" look="primary" isBusy={isPending} disabled={text.trim() === ''}>
          Answer
        </Button>
      </form>
    </div>
  )
}
