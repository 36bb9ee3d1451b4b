/** One promise of the security page, with the tests that it names. */
export type SecurityPromise = { sentence: string; tests: { file: string; name: string }[] }

const LINK = /\[test\]\((\S+) "([^"]+)"\)/g

/** The list below "What holds": each item is a promise. */
export function readPromises(page: string): SecurityPromise[] {
  const [, rest = ''] = page.split('\n## What holds\n')
  const [section = ''] = rest.split('\n## ')
  return section
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => ({
      sentence: line.slice(2).replace(LINK, '').trim(),
      tests: [...line.matchAll(LINK)].map(([, file = '', name = '']) => ({ file, name })),
    }))
}
