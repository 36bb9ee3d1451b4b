import { Markdown } from '../parts/markdown.tsx'

type StreamingTextProps = { text: string; note: string | null; doing: string | null }

/** Past this, only the end is drawn while it grows; all of it is there once it is finished. */
const longest = 12_000

/** What the agent is saying or doing at this moment. */
export function StreamingText({ text, note, doing }: StreamingTextProps) {
  const shown = text.length > longest ? `…${text.slice(-longest)}` : text
  const status = note ?? doing ?? 'working'
  return (
    <div className="py-2">
      {text === '' ? null : <Markdown text={shown} isGrowing />}
      <p className="mt-1 flex items-center gap-2 text-ink-3 text-sm">
        <span aria-hidden className="breathing relative inline-block size-2 rounded-full bg-accent text-accent" />
        {status}
      </p>
    </div>
  )
}
