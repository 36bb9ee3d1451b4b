import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { readPackage, workspaceFolders } from '../../bootstrap/workspace.mjs'
import { findImports, type Import } from './imports.ts'

/**
 * Which package of Matrix may use which: what stands below it in the picture in CONTRIBUTING.md, and nothing beside it.
 * Tooling may use every package, and none may use tooling.
 */
const mayUse: Record<string, string[]> = {
  protocol: [],
  manifest: ['protocol'],
  client: ['protocol'],
  'mock-provider': ['protocol'],
  'event-store': ['protocol'],
  'task-tree': ['protocol'],
  'provider-loop': ['protocol'],
  demo: ['mock-provider', 'orchestrator', 'protocol', 'task-tree'],
  'tool-manager': ['manifest', 'protocol'],
  orchestrator: ['event-store', 'manifest', 'protocol', 'provider-loop', 'task-tree', 'tool-manager'],
  daemon: [
    'demo',
    'event-store',
    'manifest',
    'mock-provider',
    'orchestrator',
    'protocol',
    'provider-loop',
    'task-tree',
    'tool-manager',
  ],
  cli: [
    'client',
    'daemon',
    'demo',
    'event-store',
    'manifest',
    'mock-provider',
    'orchestrator',
    'protocol',
    'task-tree',
    'tool-manager',
  ],
  ui: ['client', 'protocol'],
}

/**
 * Tests may play against the scripted provider, except of the one package that it needs itself; those of the daemon, against
 * its client; those of the story, with the loop that lives through its recordings again.
 */
const testsMayUse = (name: string): string[] => {
  if (name === 'protocol') return []
  if (name === 'demo') return ['provider-loop']
  return name === 'daemon' ? ['client', 'mock-provider'] : ['mock-provider']
}

/** Files above the packages that every package may read. */
const shared = ['bundle.base.mjs', 'vitest.base.ts']

const dependencyKinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'] as const

type Member = { folder: string; name: string }
type Source = { file: string; imports: Import[] }

/** Every dependency and import that goes sideways or upwards, each as `file:line: what is wrong and what to do`. */
export function findDetours(root: string): string[] {
  const members = workspaceFolders(root).map((folder) => ({ folder, name: shortName(readPackage(root, folder).name) }))
  return members.flatMap((member) => {
    const sources = sourceFiles(root, member.folder).map((file) => ({ file, imports: importsOf(root, file) }))
    if (isTooling(member.name)) return findEscapes(root, member, sources)
    if (!mayUse[member.name])
      return [`${member.folder}/package.json:1: @matrix/${member.name} is not in the picture: add it to directions.ts.`]

    return [
      ...findDependencies(root, member),
      ...findSidewaysImports(member, sources),
      ...findEscapes(root, member, sources),
    ]
  })
}

function findDependencies(root: string, { folder, name }: Member): string[] {
  const file = `${folder}/package.json`
  const text = readFileSync(join(root, file), 'utf8')
  const manifest: Partial<Record<(typeof dependencyKinds)[number], Record<string, string>>> = JSON.parse(text)

  return dependencyKinds.flatMap((kind) => {
    const allowed = [...(mayUse[name] ?? []), ...(kind === 'devDependencies' ? testsMayUse(name) : [])]
    return Object.keys(manifest[kind] ?? {})
      .filter((dependency) => isForeign(dependency, name) && !allowed.includes(shortName(dependency)))
      .map((dependency) => `${file}:${lineOf(text, `"${dependency}"`)}: ${refusal(name, dependency)}`)
  })
}

function findSidewaysImports({ name }: Member, sources: Source[]): string[] {
  return sources.flatMap(({ file, imports }) => {
    const allowed = [...(mayUse[name] ?? []), ...(isTest(file) ? testsMayUse(name) : [])]
    return imports
      .filter(({ specifier }) => isForeign(specifier, name) && !allowed.includes(shortName(specifier)))
      .map(({ specifier, line }) => `${file}:${line}: ${refusal(name, specifier)}`)
  })
}

function findEscapes(root: string, { folder, name }: Member, sources: Source[]): string[] {
  return sources.flatMap(({ file, imports }) =>
    imports
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier, line }) => ({ line, target: relative(root, resolve(root, file, '..', specifier)) }))
      .map(({ line, target }) => ({ line, target: target.split(sep).join('/') }))
      .filter(({ target }) => !target.startsWith(`${folder}/`) && !shared.includes(target))
      .filter(({ target }) => !(isTooling(name) && target.startsWith('tooling/')))
      .map(
        ({ line, target }) => `${file}:${line}: ${target} is outside of ${folder}: import it by its package's name.`,
      ),
  )
}

function refusal(name: string, specifier: string): string {
  const allowed = mayUse[name]?.map((other) => `@matrix/${other}`).join(', ') || 'nothing of Matrix'
  return `@matrix/${name} may not use @matrix/${shortName(specifier)} (it may use ${allowed}): move what both need further down.`
}

function sourceFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : sourceFiles(root, path)
    return /\.(ts|tsx|mts|js|jsx|mjs)$/.test(entry.name) ? [path] : []
  })
}

const skipped = new Set(['node_modules', 'dist', 'fixtures', 'strangers', '.turbo', 'coverage'])

function importsOf(root: string, file: string) {
  return findImports(file, readFileSync(join(root, file), 'utf8'))
}

function isForeign(specifier: string, name: string): boolean {
  return specifier.startsWith('@matrix/') && shortName(specifier) !== name
}

function isTooling(name: string): boolean {
  return name.startsWith('tooling-')
}

function isTest(file: string): boolean {
  return /\.(test|testing)\.tsx?$|^[^/]+\/[^/]+\/test\//.test(file)
}

function shortName(specifier: string): string {
  return specifier.split('/')[1] ?? specifier
}

function lineOf(text: string, part: string): number {
  return text.slice(0, text.indexOf(part)).split('\n').length
}
