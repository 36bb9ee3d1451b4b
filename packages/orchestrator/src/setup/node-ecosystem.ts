import * as z from 'zod'
import type { Folder } from './project-files.ts'
import type { Step } from './setup-step.ts'

const Names = z.record(z.string(), z.unknown()).optional().catch(undefined)
const Package = z.object({
  packageManager: z.string().optional().catch(undefined),
  scripts: z.record(z.string(), z.string()).optional().catch(undefined),
  dependencies: Names,
  devDependencies: Names,
  optionalDependencies: Names,
  peerDependencies: Names,
  workspaces: z.unknown().optional(),
})
type Package = z.infer<typeof Package>

type Manager = 'npm' | 'pnpm' | 'yarn' | 'berry' | 'bun'

const lockFiles: [file: string, manager: Manager][] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
]

/** With a lock file, exactly what it says; without one, none is written. */
const commands: Record<Manager, { locked: string; free: string; program: string; fetched: string }> = {
  npm: {
    locked: 'npm ci --no-audit --no-fund',
    free: 'npm install --no-save --no-package-lock --no-audit --no-fund',
    program: 'npm',
    fetched: 'npm',
  },
  pnpm: {
    locked: 'pnpm install --frozen-lockfile',
    free: 'pnpm install --no-lockfile',
    program: 'pnpm',
    fetched: 'pnpm',
  },
  yarn: {
    locked: 'yarn install --frozen-lockfile --non-interactive',
    free: 'yarn install --no-lockfile --non-interactive',
    program: 'yarn',
    fetched: 'yarn',
  },
  berry: { locked: 'yarn install --immutable', free: 'yarn install', program: 'yarn', fetched: '@yarnpkg/cli-dist' },
  bun: { locked: 'bun install --frozen-lockfile', free: 'bun install --no-save', program: 'bun', fetched: 'bun' },
}

export async function nodeSteps(folder: Folder): Promise<Step | undefined> {
  const found = Package.safeParse(parseJson((await folder.read('package.json')) ?? ''))
  const about: Package = found.success ? found.data : {}
  const [lockFile, locked] = lockFiles.find(([file]) => folder.has(file)) ?? []
  const manager = await managerOf(folder, about, locked)
  const { program } = commands[manager]
  return {
    ecosystem: manager === 'berry' ? 'yarn' : manager,
    because: lockFile ?? 'package.json',
    needs: folder.hasProgram(program) ? program : 'npx',
    commands: lockFile || needsPackages(about) ? [install(folder, about, manager, lockFile !== undefined)] : [],
    test: testOf(about, manager),
  }
}

async function managerOf(folder: Folder, about: Package, locked: Manager | undefined): Promise<Manager> {
  const named = /^(npm|pnpm|yarn|bun)@(\d+)/.exec(about.packageManager ?? '')
  const manager = locked ?? (named?.[1] as Manager | undefined) ?? 'npm'
  if (manager !== 'yarn') return manager
  const isBerry = ((await folder.read('yarn.lock')) ?? '').includes('__metadata:') || Number(named?.[2] ?? 1) > 1
  return isBerry ? 'berry' : 'yarn'
}

/** A manager that is not installed is fetched, in the version that the project names. */
function install(folder: Folder, { packageManager = '' }: Package, manager: Manager, isLocked: boolean): string {
  const { locked, free, program, fetched } = commands[manager]
  const command = isLocked ? locked : free
  if (folder.hasProgram(program)) return command
  const version = /@(\d[\w.-]*)/.exec(packageManager)?.[1] ?? (manager === 'yarn' ? '1' : '')
  return command.replace(program, `npx --yes ${fetched}${version && `@${version}`}`)
}

function needsPackages({ dependencies, devDependencies, optionalDependencies, workspaces }: Package): boolean {
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies }
  return Object.keys(all).length > 0 || workspaces !== undefined
}

function testOf({ scripts }: Package, manager: Manager): string | undefined {
  const test = scripts?.test
  if (!test || /no test specified/.test(test)) return undefined
  return `${commands[manager].program} ${manager === 'bun' ? 'run test' : 'test'}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
