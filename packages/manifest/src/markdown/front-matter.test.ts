import { expect, test } from 'vitest'
import { parseFrontMatter } from './front-matter.ts'

const read = (text: string) => parseFrontMatter(Buffer.from(text))

test('front matter and body are told apart, also with CRLF, a byte order mark and --- in the body', () => {
  for (const text of ['---\nname: x\n---\n\nBody\n---\nmore\n', '\uFEFF---\nname: x\n---\nBody\n---\nmore'])
    expect(read(text)).toMatchObject({ fields: { name: 'x' }, body: 'Body\n---\nmore', findings: [] })
  expect(read('---\r\nname: x\r\n---\r\nBody\r\n')).toMatchObject({ fields: { name: 'x' }, body: 'Body', findings: [] })
  expect(read('---\n---\nBody')).toMatchObject({ fields: {}, body: 'Body', findings: [] })
})

test('a description with a colon and no quotes is read as text, with a warning at its place', () => {
  const text =
    '---\nname: x\ndescription: Use this when: asked. user: "hi" # now\nmodel: sonnet\ntools: Read\n---\nBody'
  const { fields, findings, source } = read(text)

  expect(fields).toEqual({
    name: 'x',
    description: 'Use this when: asked. user: "hi" # now',
    model: 'sonnet',
    tools: 'Read',
  })
  expect(findings).toMatchObject([{ rule: 'MX001', severity: 'warning', line: 3, column: 14 }])
  expect(source.locate(['model'])).toMatchObject({ line: 4, column: 8, endColumn: 14 })
  expect(source.locate(['tools', 0])).toMatchObject({ line: 5, column: 1 })
})

test.each([
  ['an empty file', '', 'empty'],
  ['plain Markdown', '# Title\n', 'does not start with ---'],
  ['front matter without an end', '---\nname: x\n', 'No line of --- ends'],
  ['a list as front matter', '---\n- a\n---\n', 'no list of fields'],
  ['front matter of 50 MB', `---\n${'a'.repeat(50 * 1024 * 1024)}`, 'at most'],
  ['a value that is no YAML', '---\nname: x\ntools: [Read\n---\n', ''],
])('%s is refused with a finding', (_, text, message) => {
  const { fields, findings } = read(text)
  expect(fields).toBeUndefined()
  expect(findings).toMatchObject([{ severity: 'error', message: expect.stringContaining(message) }])
})

test('invalid UTF-8 is refused at its byte', () => {
  const { findings } = parseFrontMatter(
    Buffer.concat([Buffer.from('---\nname: '), Buffer.from([0xff]), Buffer.from('\n---\n')]),
  )
  expect(findings).toMatchObject([{ line: 2, column: 7, message: expect.stringContaining('UTF-8') }])
})

test('64 KB of blanks in a field are read in no time', () => {
  const start = performance.now()
  read(`---\ndescription: a: b${' '.repeat(64_000)}c\n---\n`)
  expect(performance.now() - start).toBeLessThan(1000)
})
