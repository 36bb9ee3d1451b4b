import fc from 'fast-check'
import { expect, test } from 'vitest'
import { interpreterOf, isBlank, readScript } from './setup-script.ts'

test('what is shown is what runs: LF line ends, a line end at the end, and a note of what was changed', () => {
  expect(readScript('#!/bin/sh\r\nnpm ci', 'x.sh')).toEqual({
    text: '#!/bin/sh\nnpm ci\n',
    notes: ['CRLF line ends of x.sh became LF'],
  })
  expect(readScript('npm ci\n', 'x.sh')).toEqual({ text: 'npm ci\n', notes: [] })
  expect(readScript('\uFEFF#!/bin/sh\nnpm ci\r', 'x.sh')).toEqual({
    text: '#!/bin/sh\nnpm ci\n',
    notes: ['The byte order mark of x.sh was removed', 'CRLF line ends of x.sh became LF'],
  })
})

test('bytes that are no text, and too many of them, are refused by name', () => {
  const refused = [Buffer.from([0xff, 0xfe, 0x41]), 'a\0b', 'a'.repeat(300_000)]
  for (const given of refused)
    expect(() => readScript(given, 'x.sh')).toThrow(
      expect.objectContaining({ code: 'SETUP_INVALID', message: expect.stringContaining('x.sh') }),
    )
})

test('a script of comments and white space alone has nothing to run', () => {
  expect(isBlank('')).toBe(true)
  expect(isBlank('#!/bin/sh\n  # later\n\n')).toBe(true)
  expect(isBlank('#!/bin/sh\ntrue\n')).toBe(false)
})

test('the first line names the program as the kernel reads it; without one it is the shell', () => {
  expect(interpreterOf('npm ci\n')).toEqual(['/bin/sh'])
  expect(interpreterOf('#!/bin/bash -eu\nx')).toEqual(['/bin/bash', '-eu'])
  expect(interpreterOf('#! /usr/bin/env -S python3 -u\nx')).toEqual(['/usr/bin/env', '-S python3 -u'])
  expect(interpreterOf('#!relative\nx')).toEqual(['/bin/sh'])
})

test('reading what was read changes nothing, whatever it is', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.constantFrom('\r', '\n', '\uFEFF', 'a'),
          fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        ),
      }),
      (given) => {
        const once = attempt(given)
        if (once !== undefined) expect(attempt(once)).toBe(once)
      },
    ),
  )
})

function attempt(text: string): string | undefined {
  try {
    return readScript(text, 'x').text
  } catch {
    return undefined
  }
}
