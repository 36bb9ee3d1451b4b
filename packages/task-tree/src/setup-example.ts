import { chmod, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Disk, nodeDisk } from './disk.ts'
import { replaceFile } from './durable-file.ts'
import { refuseLinks } from './links.ts'
import { setupHook } from './setup-hook.ts'

type Ecosystem = 'npm' | 'pnpm' | 'yarn' | 'bun' | 'cargo' | 'go' | 'python'
type Step = { ecosystem: Ecosystem; because: string; commands: string[] }

/** `isNew` is false where an example was there already: it may have been edited, so it stays as it is. */
export type SetupExample = { path: string; detected: Ecosystem[]; isNew: boolean }

/** Writes an example of the setup hook that fits the project. It is never the active one: a person reads and renames it. */
export async function writeSetupExample(
  checkout: string,
  { disk = nodeDisk }: { disk?: Disk } = {},
): Promise<SetupExample> {
  const path = join(checkout, `${setupHook}.example`)
  const steps = await detect(disk, checkout)
  const detected = steps.map((step) => step.ecosystem)
  await refuseLinks(disk, join(checkout, '.mxd'), dirname(path))
  const kind = await disk.kind(path)
  if (kind !== 'missing') return { path, detected, isNew: false }

  await disk.makeDirectory(dirname(path))
  await replaceFile(disk, path, exampleScript(steps))
  await chmod(path, 0o644)
  return { path, detected, isNew: true }
}

// One package manager for JavaScript and one for Python: the first whose file is there.
const javascript: [file: string, ecosystem: Ecosystem, command: string][] = [
  ['pnpm-lock.yaml', 'pnpm', 'pnpm install --frozen-lockfile'],
  ['bun.lock', 'bun', 'bun install --frozen-lockfile'],
  ['bun.lockb', 'bun', 'bun install --frozen-lockfile'],
  ['yarn.lock', 'yarn', 'yarn install --frozen-lockfile'],
  ['package-lock.json', 'npm', 'npm ci'],
  ['npm-shrinkwrap.json', 'npm', 'npm ci'],
  ['package.json', 'npm', 'npm install'],
]

const python: [file: string, commands: string[]][] = [
  ['uv.lock', ['uv sync --frozen']],
  ['poetry.lock', ['poetry install --no-interaction']],
  ['Pipfile.lock', ['pipenv sync --dev']],
  ['requirements.txt', ['python3 -m venv .venv', '.venv/bin/pip install -r requirements.txt']],
  ['pyproject.toml', ['python3 -m venv .venv', '.venv/bin/pip install -e .']],
]

async function detect(disk: Disk, checkout: string): Promise<Step[]> {
  const has = async (name: string) => (await disk.kind(join(checkout, name))) === 'file'
  const steps: Step[] = []
  for (const [file, ecosystem, command] of javascript) {
    if (!(await has(file))) continue
    const isBerry = ecosystem === 'yarn' && (await readFile(join(checkout, file), 'utf8')).includes('__metadata:')
    steps.push({ ecosystem, because: file, commands: [isBerry ? 'yarn install --immutable' : command] })
    break
  }
  if (await has('Cargo.toml'))
    steps.push({
      ecosystem: 'cargo',
      because: 'Cargo.toml',
      commands: [(await has('Cargo.lock')) ? 'cargo fetch --locked' : 'cargo fetch'],
    })
  if (await has('go.mod')) steps.push({ ecosystem: 'go', because: 'go.mod', commands: ['go mod download'] })
  for (const [file, commands] of python) {
    if (!(await has(file))) continue
    steps.push({ ecosystem: 'python', because: file, commands })
    break
  }
  return steps
}

function exampleScript(steps: Step[]): string {
  const found = steps.flatMap(({ because, commands }) => [`# ${because} is there:`, ...commands, ''])
  const nothing = ['# Nothing was detected. Install what a fresh checkout needs before someone can work in it.', '']
  return `#!/bin/sh
# Makes a fresh worktree ready to work in. Matrix runs this in every new one and gives up on it if this fails.
#
# This is an example and does nothing yet. Review it, change what does not fit, then:
#   cp ${setupHook}.example ${setupHook}
#   chmod +x ${setupHook}
#
# It runs in the worktree, and knows MXD_TASK_ID, MXD_WORKTREE, MXD_REPOSITORY, MXD_BRANCH and MXD_BASE_BRANCH.
set -eu

${(found.length > 0 ? found : nothing).join('\n')}
# Files that git does not know are not in the worktree. If the project needs one, copy it:
# cp "$MXD_REPOSITORY/.env" .env
`
}
