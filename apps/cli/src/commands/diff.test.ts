import { expect, test } from 'vitest'
import { folderWith, goodManifest, manifestText, matrix } from '../matrix-process.testing.ts'

const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(goodManifest)).reverse()))
const widened = manifestText(
  {
    tools: [
      { name: 'read_text_file', description: 'Read\u202E a file', side_effect_class: 'read' },
      { name: 'run', side_effect_class: 'shell' },
    ],
  },
  { allowed_side_effects: ['read', 'shell'] },
)

test('two manifests that say the same are the same, whatever their order and spacing', async () => {
  const cwd = folderWith({ 'a.json': goodManifest, 'b.json': reordered })

  expect(await matrix(['diff', 'a.json', 'b.json'], { cwd })).toEqual({
    code: 0,
    stdout: 'Nothing differs.\n',
    stderr: '',
  })
})

test('what changed is said in words with its danger, the worst first, and hidden characters are made visible', async () => {
  const { code, stdout } = await matrix(['diff', 'a.json', 'b.json'], {
    cwd: folderWith({ 'a.json': goodManifest, 'b.json': widened }),
  })

  expect(code).toBe(1)
  expect(stdout).toMatch(/^high .*\n/)
  expect(stdout).toMatch(/fs\/run: /)
  expect(stdout).toMatch(/\d+ changes: \d of high/)
  expect(stdout).not.toContain('\u202E')
})

test('--json lists the changes for programs', async () => {
  const { stdout } = await matrix(['diff', '--json', 'a.json', 'b.json'], {
    cwd: folderWith({ 'a.json': goodManifest, 'b.json': widened }),
  })

  expect(JSON.parse(stdout)).toMatchObject({
    same: false,
    changes: expect.arrayContaining([expect.objectContaining({ danger: 'high' })]),
  })
})

test('a file that is no manifest is a usage error that says how to find out why', async () => {
  const cwd = folderWith({ 'a.json': goodManifest, 'b.json': '{"schema_version": 2}' })

  expect(await matrix(['diff', 'a.json', 'b.json'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('matrix verify --offline b.json'),
  })
})
