import { expect, test } from 'vitest'
import { toDriftParts } from './drift.ts'

test('what was agreed to is held against what was found, word by word', () => {
  const parts = toDriftParts(
    '--- agreed\n+++ found\n@@ send @@\n-Sends a mail.\n+Sends a mail to everyone.\n unchanged',
  )

  expect(parts).toEqual([
    { kind: 'text', text: 'send' },
    {
      kind: 'change',
      parts: [
        { kind: 'same', text: 'Sends a mail' },
        { kind: 'added', text: ' to everyone' },
        { kind: 'same', text: '.' },
      ],
    },
    { kind: 'text', text: 'unchanged' },
  ])
})

test('a message that is no diff is shown as the words it is', () => {
  expect(toDriftParts('The tools differ.')).toEqual([{ kind: 'text', text: 'The tools differ.' }])
})
