import { digestValue } from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import * as z from 'zod'

const Specs = z.record(z.string(), z.string()).optional()
const Entry = z.looseObject({
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().optional(),
  inBundle: z.boolean().optional(),
  optional: z.boolean().optional(),
  dependencies: Specs,
  optionalDependencies: Specs,
  peerDependencies: Specs,
  peerDependenciesMeta: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })).optional(),
})
type Entry = z.infer<typeof Entry>

/** The list of everything that npm installs for one package, by its place. */
export const NpmLockFile = z.looseObject({ packages: z.record(z.string(), Entry) })
export type NpmLockFile = z.infer<typeof NpmLockFile>

export function parseNpmLockFile(value: unknown): NpmLockFile {
  const parsed = NpmLockFile.safeParse(value)
  if (parsed.success) return parsed.data
  throw new MatrixError('PACKAGE_UNVERIFIABLE', 'The list of dependencies cannot be read.', {
    hint: 'Run matrix lock again.',
    cause: parsed.error,
  })
}

/** Over what each package is and holds, not over where it came from: two registries that serve the same bytes are the same. */
export function dependenciesDigest({ packages }: NpmLockFile): string {
  const entries = Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { version, integrity }]) => [path, { version, integrity }])
  return digestValue(Object.fromEntries(entries))
}

/** The same list without addresses, so that any registry that has the same bytes will do. */
export function withoutAddresses(lockFile: NpmLockFile): NpmLockFile {
  const packages = Object.entries(lockFile.packages).map(([path, entry]) => {
    const { resolved, ...rest } = entry
    return [path, resolved?.startsWith('file:') ? entry : rest]
  })
  return { ...lockFile, packages: Object.fromEntries(packages) }
}

/** The file that the package itself is installed from. */
export const PACKED_FILE = 'package.tgz'

/** Refuses a list in which anything comes from elsewhere than a registry, or could be other bytes the next time. */
export function assertFromRegistry(what: string, { packages }: NpmLockFile): void {
  for (const [path, entry] of Object.entries(packages)) {
    if (path === '') continue
    const problem = entryProblem(path, entry, packages) ?? specProblem(path, entry)
    if (problem) throw refuseDependency(`${what} depends on ${problem}`)
  }
}

export function refuseDependency(problem: string): MatrixError {
  return new MatrixError('DEPENDENCY_REFUSED', `${printableLine(problem)}.`)
}

function entryProblem(path: string, entry: Entry, packages: NpmLockFile['packages']): string | undefined {
  const name = nameOf(path)
  const { link, resolved, integrity, inBundle } = entry
  if (!path.startsWith('node_modules/') || link) return `${name}, a folder or link and not a published package`
  const isOwn = resolved === `file:${PACKED_FILE}`
  if (resolved !== undefined && !isOwn && !/^https?:\/\//.test(resolved))
    return `${name} from ${withoutSecret(resolved)}, which is no registry`
  // What comes inside the file of another package is held by the integrity of that one.
  if (inBundle && resolved === undefined && isHeld(path, packages)) return undefined
  if (integrity === undefined) return `${name}, which has no integrity: it could be other bytes the next time`
  if (!/^sha(?:512|384|256)-/m.test(integrity.replaceAll(' ', '\n')))
    return `${name}, whose integrity is too weak (${integrity.slice(0, 5)})`
  return undefined
}

function isHeld(path: string, packages: NpmLockFile['packages']): boolean {
  for (let at = path.lastIndexOf('/node_modules/'); at > 0; at = path.lastIndexOf('/node_modules/', at - 1))
    if (Object.hasOwn(packages, path.slice(0, at)) && packages[path.slice(0, at)]?.integrity) return true
  return false
}

function specProblem(path: string, entry: Entry): string | undefined {
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = entry
  const peers = Object.entries(peerDependencies).filter(([name]) => !peerDependenciesMeta[name]?.optional)
  const specs = [...Object.entries({ ...dependencies, ...optionalDependencies }), ...peers]
  const foreign = specs.map(([name, spec]) => findForeignSpec(`${name}@${spec}`)).find(Boolean)
  return foreign && `${foreign} (by ${nameOf(path)})`
}

/** `name@spec` of something that is not a version, range or tag of a registry, in words; an alias is looked behind. */
export function findForeignSpec(text: string): string | undefined {
  const [, name = '', spec = ''] = /^(@?[^@]*)@?(.*)$/s.exec(text) ?? []
  if (!/^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*$/.test(name)) return `${withoutSecret(text)}, which is no package of a registry`
  if (spec.startsWith('npm:')) return findForeignSpec(spec.slice('npm:'.length))
  const isRange = /^[\w.+\-^~<>=*|, ]*$/.test(spec) && !/^\.|\.(?:tgz|tar|tar\.gz)$/i.test(spec)
  return isRange ? undefined : `${name} from ${withoutSecret(spec)}, which is no registry`
}

/** Addresses may hold a password, and end with what only a repository means. */
function withoutSecret(address: string): string {
  return address
    .replace(/\/\/[^/@]*@/, '//')
    .replace(/[?#].*$/s, '')
    .slice(0, 200)
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
