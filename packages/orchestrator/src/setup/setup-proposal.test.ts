import { expect, test } from 'vitest'
import { detectSetup } from './setup-proposal.ts'

const everything = () => true

test('a lock file is followed to the letter, and without one none is written', async () => {
  expect(await commandsOf({ 'package.json': '{}', 'package-lock.json': '{}' })).toEqual(['npm ci --no-audit --no-fund'])
  expect(await commandsOf({ 'package.json': '{"devDependencies":{"a":"1"}}' })).toEqual([
    'npm install --no-save --no-package-lock --no-audit --no-fund',
  ])
  expect(await commandsOf({ 'package.json': '{}', 'pnpm-lock.yaml': '' })).toEqual(['pnpm install --frozen-lockfile'])
  expect(await commandsOf({ 'package.json': '{}', 'yarn.lock': '# yarn lockfile v1' })).toEqual([
    'yarn install --frozen-lockfile --non-interactive',
  ])
  expect(await commandsOf({ 'package.json': '{}', 'yarn.lock': '__metadata:\n' })).toEqual(['yarn install --immutable'])
  expect(await commandsOf({ 'package.json': '{}', 'bun.lock': '' })).toEqual(['bun install --frozen-lockfile'])
})

test('a package manager that is not installed is fetched in the version that the project names', async () => {
  const about = { 'package.json': '{"packageManager":"pnpm@9.1.0+sha512.abc"}', 'pnpm-lock.yaml': '' }

  expect(await commandsOf(about, (name) => name === 'npx')).toEqual(['npx --yes pnpm@9.1.0 install --frozen-lockfile'])
})

test('projects of other languages get their own commands', async () => {
  expect(await commandsOf({ 'Cargo.toml': '', 'Cargo.lock': '' })).toEqual(['cargo fetch --locked'])
  expect(await commandsOf({ 'go.mod': 'module x\nrequire y v1\n' })).toEqual(['go mod download'])
  expect(await commandsOf({ 'pyproject.toml': '', 'uv.lock': '' })).toEqual(['uv sync --frozen'])
  expect(await commandsOf({ 'requirements.txt': '', 'requirements-dev.txt': '' })).toEqual([
    '[ -d .venv ] || python3 -m venv .venv',
    '.venv/bin/python -m pip install --quiet -r requirements.txt -r requirements-dev.txt',
  ])
  const extras = '[project]\nname = "x"\n[project.optional-dependencies]\ntest = ["pytest"]\n'
  expect((await commandsOf({ 'pyproject.toml': extras })).at(-1)).toBe(
    ".venv/bin/python -m pip install --quiet -e '.[test]' pytest",
  )
  expect(await commandsOf({ Gemfile: '', 'Gemfile.lock': '' })).toContain('bundle install')
  expect(await commandsOf({ 'pom.xml': '', mvnw: '' })).toEqual([
    'sh ./mvnw --batch-mode --quiet dependency:go-offline',
  ])
})

test('where nothing has to be fetched, nothing is proposed', async () => {
  for (const files of [
    { 'main.c': '', Makefile: 'check: all\n' },
    { 'package.json': '{"name":"x"}', 'index.js': '' },
    { 'go.mod': 'module x\n', 'main.go': '' },
    { 'pyproject.toml': '[tool.ruff]\n', 'a.py': '' },
    { 'README.md': '' },
  ])
    expect((await detect(files)).script).toBeNull()
})

test('a repository of several parts is set up part by part, without its examples and fixtures', async () => {
  const { script, found } = await detect({
    'web app/package.json': '{}',
    'web app/package-lock.json': '{}',
    'server/go.mod': 'module x\nrequire y v1\n',
    'examples/a/package.json': '{"dependencies":{"a":"1"}}',
    'deep/down/below/package.json': '{"dependencies":{"a":"1"}}',
  })

  expect(found.map(({ folder }) => folder)).toEqual(['web app', 'server'])
  expect(script).toContain("(cd 'web app' && npm ci --no-audit --no-fund)")
  expect(script).toContain('(cd server && go mod download)')
})

test('what cannot run here is left out with the reason', async () => {
  const { script, notes } = await detect({ 'Cargo.toml': '', '.gitmodules': '' }, () => false)

  expect(script).toBeNull()
  expect(notes).toEqual([
    'Cargo.toml needs cargo, which is not installed: left out.',
    'Submodules are not checked out in worktrees.',
  ])
})

test('languages and the test command are named for whoever reads the proposal', async () => {
  const node = { 'package.json': '{"scripts":{"test":"vitest"}}', 'a.ts': '', 'b.ts': '', 'c.md': '' }

  expect(await detect(node)).toMatchObject({ languages: ['TypeScript'], testCommand: 'npm test' })
  expect(await detect({ 'a.c': '', Makefile: 'all:\ntest: all\n' })).toMatchObject({
    languages: ['C'],
    testCommand: 'make test',
  })
  expect(await detect({ 'package.json': '{"scripts":{"test":"echo no test specified"}}' })).toMatchObject({
    testCommand: null,
  })
})

function detect(files: Record<string, string>, hasProgram: (name: string) => boolean = everything) {
  return detectSetup({ paths: Object.keys(files), read: async (path) => files[path], hasProgram })
}

async function commandsOf(files: Record<string, string>, hasProgram = everything as (name: string) => boolean) {
  const { script } = await detect(files, hasProgram)
  return (script ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#') && line !== 'set -eux')
}
