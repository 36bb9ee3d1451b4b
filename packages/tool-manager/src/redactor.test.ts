import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openRedactor } from './redactor.ts'

const secret = fc.oneof(
  fc.string({ minLength: 8, maxLength: 60, unit: 'binary' }).filter((text) => text === text.trim() && wellFormed(text)),
  fc.stringMatching(/^[A-Za-z0-9_./+=&<"'\\ -]{8,80}$/).filter((text) => text === text.trim()),
)
const around = fc.stringMatching(/^[A-Za-z0-9 ,.{}]{0,9}$/)

const spellings: Record<string, (secret: string, before: string, after: string) => string> = {
  'as it is': (text, before, after) => before + text + after,
  'base64 at any offset': (text, before, after) => Buffer.from(before + text + after).toString('base64'),
  'base64url at any offset': (text, before, after) => Buffer.from(before + text + after).toString('base64url'),
  'base64 in lines': (text, before, after) =>
    (
      Buffer.from(before + text + after)
        .toString('base64')
        .match(/.{1,16}/g) ?? []
    ).join('\n'),
  hex: (text, before, after) => Buffer.from(before + text + after).toString('hex'),
  'upper-case hex with colons': (text) =>
    Buffer.from(text)
      .toString('hex')
      .toUpperCase()
      .replace(/..(?=.)/g, '$&:'),
  'hex as an array of bytes': (text) =>
    [...Buffer.from(text)].map((byte) => `0x${byte.toString(16).padStart(2, '0')}`).join(', '),
  'a URL': (text, before, after) => encodeURIComponent(before + text + after),
  'a form': (text) => new URLSearchParams({ text }).toString(),
  'every byte of a URL': (text) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  'a URL within a URL': (text) => encodeURIComponent(encodeURIComponent(text)),
  JSON: (text, before, after) => JSON.stringify(before + text + after),
  'JSON within JSON': (text) => JSON.stringify(JSON.stringify({ text })),
  'JSON escapes throughout': (text) =>
    text
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  HTML: (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
}

for (const [name, spell] of Object.entries(spellings))
  test(`a secret is redacted in ${name}`, () => {
    fc.assert(
      fc.property(secret, around, around, (value, before, after) => {
        const redactor = openRedactor()
        redactor.add('KEY', value)
        const clean = redactor.text(spell(value, before, after))

        expect(clean).toContain('[redacted KEY]')
        for (const other of Object.values(spellings)) expect(clean).not.toContain(other(value, '', ''))
      }),
      { numRuns: 60 },
    )
  })

test('ordinary text is left as it is', () => {
  const redactor = openRedactor()
  redactor.add('KEY', 'sk-canary/0123456789+abc')
  const text = 'Reads a file. {"a": "c2stY2FuYXJ5", "hex": "736b2d", "url": "%20%2f", "n": 123456789}\n'.repeat(2000)

  expect(redactor.text(text)).toBe(text)
})

test('each line of a secret with several is redacted, and so is what a program leaves when it trims', () => {
  const redactor = openRedactor()
  redactor.add('PEM', '-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nq1w2e3r4t5y6u7i8\n-----END KEY-----\n')
  redactor.add('TOKEN', ' first-half-of-it\r\nsecond-half-of-it \n')

  expect(redactor.text('at q1w2e3r4t5y6u7i8: bad')).toBe('at [redacted PEM]: bad')
  expect(redactor.text('"first-half-of-it\r\nsecond-half-of-it" is invalid')).toBe('"[redacted TOKEN]" is invalid')
  expect(redactor.text(inspect('first-half-of-it\r\nsecond-half-of-it'))).toBe("'[redacted TOKEN]'")
  expect(redactor.text('-----BEGIN KEY-----')).toBe('-----BEGIN KEY-----')
})

test('what is not promised passes: a secret reversed or split', () => {
  const redactor = openRedactor()
  redactor.add('KEY', 'abcdefghij')

  expect(redactor.text('jihgfedcba abcde fghij')).toBe('jihgfedcba abcde fghij')
})

test('a megabyte is redacted within a moment', () => {
  const redactor = openRedactor()
  for (let n = 0; n < 10; n += 1) redactor.add(`KEY_${n}`, `${n}-sk-canary/0123456789+abcdefghijklmnop`)
  const text = Buffer.alloc(700_000, 'any bytes at all \\u0041 %41')
    .toString('base64')
    .slice(0, 1 << 20)
  const start = performance.now()
  redactor.text(text)

  expect(performance.now() - start).toBeLessThan(2_000)
})

function wellFormed(text: string): boolean {
  return Buffer.from(text).toString() === text
}
