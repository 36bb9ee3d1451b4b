import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { scratchRepository } from './scratch-repository.ts'

test('the example of the README runs as it stands', async () => {
  const scratch = await scratchRepository({ branch: 'main' })
  // Inside the package, because the example imports it by its name; hidden from whoever reads the sources meanwhile.
  const file = join(import.meta.dirname, '..', 'node_modules', '.readme.ts')
  const home = process.env.HOME
  process.env.HOME = scratch.home
  onTestFinished(async () => {
    process.env.HOME = home
    await rm(file)
    await scratch.remove()
  })
  const readme = await readFile(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
  const places = { '/home/ada/shop': scratch.checkout, '/var/lib/app/shop': join(scratch.home, 'app') }
  await writeFile(
    file,
    example.replaceAll(/\/home\/ada\/shop|\/var\/lib\/app\/shop/g, (place) => places[place as keyof typeof places]),
  )
  await import(file)

  expect(await readFile(join(scratch.checkout, 'dates.ts'), 'utf8')).toBe('export {}\n')
  expect(scratch.git('log', '-1', '--format=%s', 'main')).toBe('Parse dates')
})
