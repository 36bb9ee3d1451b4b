import { memo, type ReactElement } from 'react'
import ReactMarkdown, { type Components, type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from './code-block.tsx'
import type { MarkdownProps } from './markdown.tsx'
import { OutsideLink } from './outside-link.tsx'

// Raw HTML is dropped, and pictures are not fetched: a picture's address alone can carry words out of the machine.
const components: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => (
    <OutsideLink href={typeof src === 'string' ? src : undefined}>[picture: {alt || 'no description'}]</OutsideLink>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = String(children ?? '')
    const language = /language-([\w-]+)/.exec(className ?? '')?.[1]
    if (!language && !text.includes('\n'))
      return <code className="break-words rounded-sm bg-sunken px-1 py-0.5 font-mono text-[0.92em]">{text}</code>
    return <CodeBlock code={text.replace(/\n$/, '')} language={language} />
  },
}

const plugins: Options['remarkPlugins'] = [remarkGfm]

const kept = new Map<string, ReactElement>()
const mostKept = 300

function parse(text: string): ReactElement {
  return ReactMarkdown({ skipHtml: true, remarkPlugins: plugins, components, children: text })
}

/** Parsing is most of the work, and rows that are scrolled back to were parsed a moment ago. */
function parseOnce(text: string): ReactElement {
  const element = kept.get(text) ?? parse(text)
  // Taken out and put back, so that the map is in the order of last use.
  kept.delete(text)
  kept.set(text, element)
  const oldest = kept.keys().next()
  if (kept.size > mostKept && !oldest.done) kept.delete(oldest.value)
  return element
}

export const MarkdownRendered = memo(function MarkdownRendered({ text, isGrowing }: MarkdownProps) {
  return <div className="prose">{isGrowing ? parse(text) : parseOnce(text)}</div>
})
