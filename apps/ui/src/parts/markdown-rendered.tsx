import { memo } from 'react'
import ReactMarkdown, { type Components, type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from './code-block.tsx'
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

export const MarkdownRendered = memo(function MarkdownRendered({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown skipHtml remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  )
})
