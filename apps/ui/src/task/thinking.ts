/** The readable thinking behind an answer, as Anthropic and OpenAI return it; nothing when there was none. */
export function thinkingOf(provider: unknown): string {
  const blocks = listIn(provider, 'blocks').map((block) => textIn(block, 'thinking'))
  const summaries = listIn(provider, 'items').flatMap((item) =>
    listIn(item, 'summary').map((part) => textIn(part, 'text')),
  )
  return [...blocks, ...summaries].filter((text) => text.trim() !== '').join('\n\n')
}

function listIn(value: unknown, key: string): readonly unknown[] {
  const found = propertyOf(value, key)
  return Array.isArray(found) ? found : []
}

function textIn(value: unknown, key: string): string {
  const found = propertyOf(value, key)
  return typeof found === 'string' ? found : ''
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
