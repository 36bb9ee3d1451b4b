import fc from 'fast-check'
import { expect, test } from 'vitest'
import { environmentGap, isWritable, parseTemplate, variableName } from './template.ts'

const braces = /\$\{([^{}]*)\}/

test('a text is taken apart at its gaps, and what cannot be filled stays text', () => {
  const fill = (name: string) => (name === 'KEEP' ? undefined : [environmentGap(name)])

  expect(parseTemplate('a${B}c$env:D ${KEEP}', braces, fill)).toEqual([
    'a',
    environmentGap('B'),
    'c',
    environmentGap('D'),
    ' ${KEEP}',
  ])
  expect(parseTemplate('', braces, fill)).toEqual([])
})

test('a token in the place of a name is not taken for a name', () => {
  const text = `\${ghp_${'fixture'.repeat(4)}}`

  expect(parseTemplate(text, braces, (name) => [environmentGap(name)])).toEqual([text])
})

test('every text is the sum of its parts', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('${A}', '$env:B', '${', '}'))), (parts) => {
      const text = parts.join('')
      const template = parseTemplate(text, braces, (name) => [`\${${name}}`])
      const whole = template.map((part) => (typeof part === 'string' ? part : `$env:${part.variable}`)).join('')

      expect(whole).toBe(text)
    }),
  )
})

test('a variable is named after any words, and always by a valid name', () => {
  expect(['api-key', 'apiKey', 'API key', 'X-Api-Key'].map(variableName)).toEqual([
    'API_KEY',
    'API_KEY',
    'API_KEY',
    'X_API_KEY',
  ])
  expect(['', '2fa', '--'].map(variableName)).toEqual(['VALUE', 'VALUE_2FA', 'VALUE'])
  fc.assert(fc.property(fc.string(), (words) => /^[A-Za-z_]\w*$/.test(variableName(words))))
})

test('a gap with a letter right after it cannot be written as a reference', () => {
  expect(isWritable([environmentGap('A'), '_b'])).toBe(false)
  expect(isWritable([environmentGap('A'), '/b', environmentGap('C'), environmentGap('D')])).toBe(true)
})
