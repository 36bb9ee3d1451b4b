import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../src/root.ts'
import { mustRun, type Outcome, runCommand } from './command.ts'
import type { PackedPackage } from './packed-package.ts'

/** Programs somebody who has only read the README might write; each is type-checked and run. */
const written = join(root, 'tooling/repository/packaging/strangers')
export const programs = readdirSync(written)

const compilerOptions = {
  target: 'es2023',
  // No Node types: nothing may ask for more than a browser has to offer.
  lib: ['es2023', 'dom'],
  module: 'nodenext',
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // What we publish has to be right by itself, not only where a caller looks away.
  skipLibCheck: false,
  outDir: 'built',
  rootDir: 'programs',
}

/** What has streams and processes in its types, so that whoever uses it has Node's types too. */
const nodeOnly = ['@matrix/tool-manager']
const onNode = ['programs/everything-on-node.ts', 'programs/tool-manager.ts']

/** Turns an empty folder into the project of somebody with npm and TypeScript who has never seen this repository. */
export async function settle(folder: string, packages: PackedPackage[]): Promise<void> {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const anywhere = { compilerOptions, include: ['programs'], exclude: onNode }
  const node = { compilerOptions: { ...compilerOptions, types: ['node'] }, include: onNode }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(anywhere))
  writeFileSync(join(folder, 'tsconfig.node.json'), JSON.stringify(node))
  cpSync(written, join(folder, 'programs'), { recursive: true })
  const portable = packages.filter(({ name }) => !nodeOnly.includes(name))
  writeFileSync(join(folder, 'programs/everything.ts'), importEverything(portable))
  writeFileSync(join(folder, 'programs/everything-on-node.ts'), importEverything(packages))

  const tarballs = packages.map(({ tarball }) => tarball)
  const specs = [...tarballs, `@types/node@${nodeTypes}`]
  await mustRun('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...specs], folder)
}

const nodeTypes = JSON.parse(readFileSync(join(root, 'node_modules/@types/node/package.json'), 'utf8')).version

/** What the compiler has to say where nothing of Node is known, or else where it is. */
export async function typeCheck(folder: string): Promise<Outcome> {
  const compile = (config: string) =>
    runCommand(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], folder)
  const anywhere = await compile('tsconfig.json')
  return anywhere.code === 0 ? compile('tsconfig.node.json') : anywhere
}

/** The shipped default manifest, and the same with the one field gone that nobody may leave out. */
export function writeManifests(folder: string): { good: string; bad: string } {
  const good = readFileSync(join(root, 'agents/default.json'), 'utf8')
  mkdirSync(join(folder, 'agents'), { recursive: true })
  writeFileSync(join(folder, 'agents/good.json'), good)
  writeFileSync(
    join(folder, 'agents/bad.json'),
    JSON.stringify({ ...JSON.parse(good), allowed_side_effects: undefined }),
  )
  return { good: 'agents/good.json', bad: 'agents/bad.json' }
}

function importEverything(packages: PackedPackage[]): string {
  const specifiers = packages.flatMap(({ entries }) =>
    entries.filter(({ isCode }) => isCode).map(({ specifier }) => specifier),
  )
  const imports = specifiers.map((specifier, index) => `import * as entry${index} from '${specifier}'\n`)
  return `${imports.join('')}export const entries: object[] = [${specifiers.map((_, index) => `entry${index}`).join(', ')}]\n`
}
