import { lazy, Suspense } from 'react'

const Rendered = lazy(() =>
  import('./markdown-rendered.tsx').then(({ MarkdownRendered }) => ({ default: MarkdownRendered })),
)

export type MarkdownProps = {
  text: string
  /** More of it is on its way, so that it will never be shown as it is again. */
  isGrowing?: boolean
}

/** What an agent wrote. Until the renderer has arrived it is shown as the text that it is. */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  return (
    <Suspense fallback={<p className="whitespace-pre-wrap break-words">{text}</p>}>
      <Rendered text={text} isGrowing={isGrowing} />
    </Suspense>
  )
}
