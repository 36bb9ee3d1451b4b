import type { Body } from '@matrix/protocol/display'
import { memo } from 'react'
import { classes } from '../parts/classes.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { languageOf } from '../parts/colours.tsx'
import { Copy } from '../parts/copy.tsx'
import { PatchLines } from '../parts/patch-lines.tsx'

/** What a call asked for or answered, each kind in its own form. Nothing here is ever markup. */
export const BodyView = memo(function BodyView({ body, isError = false }: { body: Body; isError?: boolean }) {
  switch (body.kind) {
    case 'text':
      return <Output text={body.text} isError={isError} />
    case 'command':
      return <CommandView command={body.command} output={body.output} isError={isError} />
    case 'diff':
      return <PatchLines lines={body.lines} path={body.path ?? undefined} />
    case 'file':
      return <CodeBlock code={body.text} language={languageOf(body.path)} />
    case 'search':
      return <SearchRows rows={body.rows} />
    case 'image':
      return (
        <img
          src={`data:${body.mediaType};base64,${body.data}`}
          alt="Made or read by the agent"
          className="my-2 max-h-96 max-w-full rounded-md border bg-[repeating-conic-gradient(var(--sunken)_0_25%,var(--surface)_0_50%)] bg-size-[16px_16px]"
        />
      )
    case 'json':
      return <CodeBlock code={body.text} language="json" />
    default:
      return body satisfies never
  }
})

function CommandView({
  command,
  output,
  isError,
}: {
  command: string | null
  output: string | null
  isError: boolean
}) {
  return (
    <div className="my-2 overflow-hidden rounded-md border">
      {command === null ? null : (
        <div className="group flex items-start gap-2 border-b bg-raised px-3 py-2 font-mono text-sm last:border-b-0">
          <span aria-hidden className="select-none text-ink-3">
            $
          </span>
          <code className="min-w-0 flex-1 whitespace-pre-wrap break-words">{command}</code>
          <Copy text={command} label="Copy the command" />
        </div>
      )}
      {output === null || output === '' ? null : <Output text={output} isError={isError} isFramed />}
    </div>
  )
}

function Output({ text, isError, isFramed = false }: { text: string; isError: boolean; isFramed?: boolean }) {
  return (
    <div className={classes('group relative bg-sunken', !isFramed && 'my-2 rounded-md border')}>
      <Copy
        text={text}
        label="Copy the output"
        className="absolute top-1 right-1 bg-sunken opacity-0 focus-visible:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100"
      />
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        className={classes(
          'max-h-96 overflow-auto whitespace-pre-wrap break-words px-3 py-2 pointer-coarse:pr-9 font-mono text-sm',
          isError ? 'text-bad' : 'text-ink-2',
        )}
      >
        {text}
      </pre>
    </div>
  )
}

function SearchRows({ rows }: { rows: Extract<Body, { kind: 'search' }>['rows'] }) {
  return (
    <ol className="my-2 max-h-96 overflow-auto rounded-md border bg-sunken py-1 font-mono text-sm">
      {rows.map((row, index) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: rows of a finished search never move.
          key={index}
          className="grid grid-cols-[minmax(8rem,16rem)_1fr] gap-3 px-3 py-0.5 hover:bg-hover max-sm:grid-cols-1 max-sm:gap-0"
        >
          {row.path === null ? (
            <span className="col-span-full text-ink-3">{row.text}</span>
          ) : (
            <>
              <span className="truncate text-ink-2" title={row.path}>
                {row.path}
                {row.line === null ? '' : `:${row.line}`}
              </span>
              <span className="whitespace-pre-wrap break-words">{row.text}</span>
            </>
          )}
        </li>
      ))}
    </ol>
  )
}
