import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nodeWorld } from './adapters/node-world.ts'
import { readResources } from './resources.ts'

const { files } = nodeWorld()

test('a pattern reads what it matches and names nothing else: not what links lead to, nor what git and package managers keep', async () => {
  const base = placeWith({
    'work/docs/a.md': 'A',
    'work/docs/deep/b.md': 'B',
    'work/docs/c.txt': 'C',
    'work/.git/d.md': 'D',
    'work/node_modules/x/e.md': 'E',
    'home/secret.md': 'S',
    'home/private/diary.md': 'P',
  })
  symlinkSync(join(base.home, 'secret.md'), join(base.cwd, 'docs/link.md'))
  symlinkSync(join(base.home, 'private'), join(base.cwd, 'docs/friends'))
  symlinkSync(join(base.cwd, 'docs/deep'), join(base.cwd, 'docs/again'))
  const found = await readResources(files, rules('file://**/*.md', 'file://docs/a.md'), base)

  expect(found.map(({ path, text }) => [path, text])).toEqual([
    ['docs/a.md', 'A'],
    ['docs/deep/b.md', 'B'],
  ])
  const [named] = await readResources(files, rules('file://docs/link.md'), base)
  expect(named?.notes[0]).toContain('leads out')
})

test('nothing below the data directory of Matrix is read but the worktree, also not through a link', async () => {
  const base = placeWith({
    'data/projects/p/worktrees/t/a.md': 'A',
    'data/credentials.md': 'S',
    'home/.mxd/credentials.md': 'S',
    'home/note.md': 'N',
  })
  base.cwd = join(base.dataDirectory, 'projects/p/worktrees/t')
  symlinkSync(base.dataDirectory, join(base.home, 'link'))
  const found = await readResources(files, rules('a.md', `${base.dataDirectory}/**`, '~/**/*.md'), base)
  const hidden = [base.dataDirectory, '~/.mxd', '~/link'].map((folder) => `file://${folder}/credentials.md`)
  const named = await readResources(files, rules(...hidden, '~/**/*.md'), base)

  expect(found.map(({ text }) => text)).toEqual(['A', 'N'])
  expect(named.map(({ text }) => text)).toEqual(['', '', '', 'N'])
  for (const { notes } of named.slice(0, 3))
    expect(notes).toEqual(['not read: it lies in the data directory of Matrix'])
})

test('what is too long is cut, and says so; all of it together has an end', async () => {
  const base = placeWith({ 'work/a': 'x'.repeat(40_000), 'work/b': 'y'.repeat(40_000), 'work/c': 'z'.repeat(40_000) })
  const found = await readResources(files, rules('file://a', 'file://b', 'file://c'), base)

  expect(found.map(({ text }) => text.length)).toEqual([32_000, 32_000, 0])
  expect(found[0]?.notes).toEqual(['cut after 32000 of 40000 characters'])
})

test('the lists of fs-read hold for resources too', async () => {
  const base = placeWith({ 'work/docs/a.md': 'A', 'work/b.md': 'B', 'home/c.md': 'C' })
  const toolsSettings = { read_file: { allowedPaths: ['docs', '~/c.md'], deniedPaths: ['~/c.md'] } }
  const named = rules('file://docs/a.md', 'file://b.md', 'file://~/c.md')
  const found = await readResources(files, { ...named, toolsSettings }, base)

  expect(found.map(({ path, text }) => [path, text])).toEqual([
    ['docs/a.md', 'A'],
    ['b.md', ''],
    ['~/c.md', ''],
  ])
})

test('what is missing, a folder or a pipe is said in its place', async () => {
  const base = placeWith({ 'work/docs/a.md': 'A' })
  const found = await readResources(files, rules('file://gone.md', 'file://docs', 'file:///dev/zero'), base)

  expect(found.map(({ notes }) => notes[0])).toEqual([
    'not read: it does not exist',
    expect.stringContaining('is not a regular file'),
    expect.stringContaining('is not a regular file'),
  ])
})

function rules(...resources: string[]) {
  return { resources, toolsSettings: {} }
}

function placeWith(content: Record<string, string>): { cwd: string; home: string; dataDirectory: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-resources-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['work', 'home', 'data']) mkdirSync(join(folder, name))
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return { cwd: join(folder, 'work'), home: join(folder, 'home'), dataDirectory: join(folder, 'data') }
}
