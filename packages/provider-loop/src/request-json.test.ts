import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatRequestJson } from './request-json.ts'

const unit = fc.constantFrom('a', '\\', '"', '\n', 'ud800', '\\ud800', '\ud800', '\udfff', '😀', '\u{10ffff}', 'é')

test('whatever a text is made of, a provider is sent whole characters, and everything else as it was', () => {
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join('')
      const whole = Buffer.from(text).toString()

      expect(JSON.parse(formatRequestJson({ [text]: [text] }))).toEqual({ [whole]: [whole] })
    }),
  )
})
