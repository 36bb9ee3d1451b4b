import { lazy, Suspense } from 'react'

const Rendered = lazy(() =>
  import('./markdown-rendered.tsx').then(({ MarkdownRendered }) => ({ default: MarkdownRendered })),
)

/** What an agent wrote. Until the renderer has arrived it is shown as the text that it is. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<p className="whitespace-pre-wrap break-words">{text}</p>}>
      <Rendered text={text} />
    </Suspense>
  )
}
