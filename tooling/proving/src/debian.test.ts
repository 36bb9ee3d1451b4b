import { expect, test } from 'vitest'
import { readStanzas } from './debian.ts'

test('both formats of a package list become stanzas for sources', () => {
  const oneLine =
    'deb [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.example/debian bookworm main\n# deb x y z\n'
  const stanzas =
    'Types: deb\n# as it was in May\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\nTypes: deb-src\nURIs: http://mirror.example/debian\n'

  expect(readStanzas(oneLine)).toEqual([
    'Types: deb-src\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\nSigned-By: /usr/share/keyrings/a.gpg\n',
  ])
  expect(readStanzas(stanzas)).toEqual([
    'Types: deb-src\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n',
  ])
})
