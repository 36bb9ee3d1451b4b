import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeSetupExample } from './setup-example.ts'

let checkout = ''
beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'mxd-example-'))
})
afterEach(() => rm(checkout, { recursive: true }))

test.each([
  [['package.json', 'package-lock.json'], ['npm'], 'npm ci'],
  [['package.json'], ['npm'], 'npm install'],
  [['package.json', 'pnpm-lock.yaml', 'package-lock.json'], ['pnpm'], 'pnpm install --frozen-lockfile'],
  [['package.json', 'yarn.lock'], ['yarn'], 'yarn install --frozen-lockfile'],
  [['package.json', 'bun.lock'], ['bun'], 'bun install --frozen-lockfile'],
  [['package.json', 'bun.lockb'], ['bun'], 'bun install --frozen-lockfile'],
  [['Cargo.toml', 'Cargo.lock'], ['cargo'], 'cargo fetch --locked'],
  [['go.mod'], ['go'], 'go mod download'],
  [['requirements.txt'], ['python'], 'pip install -r requirements.txt'],
  [['pyproject.toml', 'uv.lock'], ['python'], 'uv sync --frozen'],
  [['pyproject.toml', 'poetry.lock'], ['python'], 'poetry install'],
  [['package-lock.json', 'go.mod', 'pyproject.toml'], ['npm', 'go', 'python'], 'npm ci'],
  [[], [], 'Nothing was detected'],
])('with %j the example is for %j', async (files, detected, text) => {
  for (const file of files) await writeFile(join(checkout, file), '')
  const example = await writeSetupExample(checkout)
  const script = await readFile(example.path, 'utf8')

  expect(example).toEqual({ path: join(checkout, '.mxd/hooks/setup_worktree.sh.example'), detected, isNew: true })
  expect(script).toContain(text)
  expect(script).toContain('Review it')
  execFileSync('sh', ['-n', example.path])
})

test('a Yarn that is not the first is called the way it wants', async () => {
  await writeFile(join(checkout, 'yarn.lock'), '__metadata:\n  version: 8\n')

  expect(await readFile((await writeSetupExample(checkout)).path, 'utf8')).toContain('yarn install --immutable')
})

test('an example that is there already stays as it is', async () => {
  const { path } = await writeSetupExample(checkout)
  await writeFile(path, 'edited')

  expect(await writeSetupExample(checkout)).toMatchObject({ isNew: false })
  expect(await readFile(path, 'utf8')).toBe('edited')
})

test('nothing is written through a link that came with the repository', async () => {
  const elsewhere = join(checkout, 'elsewhere')
  await mkdir(elsewhere)
  await symlink(elsewhere, join(checkout, '.mxd'))

  await expect(writeSetupExample(checkout)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
})
