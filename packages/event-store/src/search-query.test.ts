import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findSnippet, formatMatch, parseSearch } from './search-query.ts'
import { loadSqlite } from './sqlite.ts'

test('words, phrases and beginnings are told apart', () => {
  expect(parseSearch('fix "login page" auth* foo-bar')).toEqual([
    { words: ['fix'], prefix: false },
    { words: ['login', 'page'], prefix: false },
    { words: ['auth'], prefix: true },
    { words: ['foo', 'bar'], prefix: false },
  ])
})

test('a snippet shows the words that were found, and where', () => {
  const text = `${'before '.repeat(40)}the Login\npage is broken${' after'.repeat(40)}`
  const snippet = findSnippet(text, parseSearch('"login page"'))

  expect(snippet.marks.map(([from, to]) => snippet.text.slice(from, to))).toEqual(['Login page'])
  expect(snippet.text.startsWith('…')).toBe(true)
  expect(snippet.text.endsWith('…')).toBe(true)
})

test('whatever somebody types is a query that the index understands', async () => {
  const Database = await loadSqlite()
  const database = new Database(':memory:')
  database.exec('CREATE VIRTUAL TABLE said USING fts5 (text)')
  const match = database.prepare('SELECT count(*) FROM said WHERE said MATCH ?')

  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom('AND', 'NOT', 'a OR', '"', '*', 'a:b', '^a', '('),
      ),
      (text) => {
        const terms = parseSearch(text)
        if (terms.length > 0) match.get(formatMatch(terms, 'text'))
        findSnippet(text, terms)
      },
    ),
    { numRuns: 500 },
  )
})
