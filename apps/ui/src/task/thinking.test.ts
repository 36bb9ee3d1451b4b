import { expect, test } from 'vitest'
import { thinkingOf } from './thinking.ts'

test('thinking that a provider returns in the clear can be read', () => {
  const anthropic = {
    name: 'anthropic',
    blocks: [{ type: 'thinking', thinking: 'First.', signature: 'x' }, { wholeText: true }, { thinking: 'Then.' }],
  }
  const openAi = { name: 'openai-responses', items: [{ type: 'reasoning', summary: [{ text: 'In short.' }] }] }

  expect(thinkingOf(anthropic)).toBe('First.\n\nThen.')
  expect(thinkingOf(openAi)).toBe('In short.')
})

test('anything else that a provider keeps is not shown', () => {
  for (const provider of [undefined, null, 'text', 7, { blocks: 'no list' }, { blocks: [null, { data: 'secret' }] }])
    expect(thinkingOf(provider)).toBe('')
})
