import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'

test('the example of the README runs as it stands', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'event-store-readme-'))
  // Inside the package, because the example imports it by its name; hidden from whoever reads the sources meanwhile.
  const file = join(import.meta.dirname, '..', 'node_modules', '.readme.ts')
  const log = vi.spyOn(console, 'log').mockReturnValue()
  onTestFinished(async () => {
    log.mockRestore()
    await rm(file)
    await rm(directory, { recursive: true })
  })
  const readme = await readFile(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
  await writeFile(file, example.replace('/home/me/.mxd/projects/p1', directory))
  await import(file)

  const [snippet, complete] = log.mock.lastCall ?? []
  expect(JSON.stringify(snippet)).toContain('login page')
  expect(complete).toBe(true)
})
