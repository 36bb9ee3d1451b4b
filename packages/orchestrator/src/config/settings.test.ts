import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isSettingKey, settingOf, settings } from './settings.ts'

const page = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8')
const keys = Object.keys(settings).filter(isSettingKey)

test('the page on settings has a row for every key, and says of each what the code does', () => {
  const rows = keys.map((key) => {
    const { description, layers, default: byDefault } = settingOf(key)
    const shown = byDefault === undefined ? '' : `\`${JSON.stringify(byDefault)}\``
    return `| \`${key}\` | ${layers.join(', ')} | ${shown} | ${description} |`
  })

  expect(page.split('\n').filter((line) => /^\| `\w+` \| (?:global|repo|local)/.test(line))).toEqual(rows)
})

test('every default is a value that its own schema accepts', () => {
  for (const key of keys) {
    const { schema, default: byDefault } = settingOf(key)
    if (byDefault !== undefined) expect([key, schema.safeParse(byDefault).success]).toEqual([key, true])
  }
})
