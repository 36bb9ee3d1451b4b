import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import { type Finding, placeProblems } from '../document/finding.ts'
import type { RuleId } from '../document/rule.ts'
import { manifestDigest } from '../manifest/digest.ts'
import { Lock } from './lock.ts'
import { checkLock } from './lock-check.ts'

const locks = new URL('../../fixtures/locks/', import.meta.url)

test('recorded locks are in order', () => {
  for (const file of readdirSync(new URL('good/', locks))) {
    expect(findingsIn(`good/${file}`)).toEqual([])
    expect(checkLock(lockIn(`good/${file}`)).lock).toBeDefined()
  }
})

/** Which rule is broken, and the line of the file that says so: the text that stands there. */
const bad: Record<string, [RuleId, string]> = {
  'class-contradicted': ['MX014', '"side_effect_class": "read"'],
  'credential-in-launch': ['MX008', '"--token=not-a-real-one-0123456789"'],
  'definition-missing': ['MX001', '"query": {'],
  'description-swapped': ['MX021', '"surface": "sha256:'],
  'digest-form': ['MX004', '"surface": "SHA256:'],
  'endpoint-moved': ['MX003', '"endpoint": "https://docs.example.com/mcp"'],
  'everything-allowed': ['MX019', '"*"'],
  'hidden-characters': ['MX024', '"definition": {'],
  'integrity-form': ['MX004', '"integrity": "sha1-abc"'],
  'manifest-changed': ['MX006', '"manifest_digest": "sha256:'],
  'manifest-missing': ['MX001', '{'],
  'package-digest': ['MX006', '"digest": "sha256:'],
  'package-version': ['MX006', '"version": "1.2.1"'],
  'server-extra': ['MX027', '"shell": {'],
  'server-missing': ['MX001', '"alias": "docs"'],
  'surface-swapped': ['MX021', '"surface": "sha256:'],
  'tool-extra': ['MX011', '"delete_all": {'],
  'tool-missing': ['MX010', '"name": "query"'],
  'transport-changed': ['MX003', '"transport": "stdio"'],
  'unknown-field': ['MX025', '"sha1": "abc"'],
  'version-unknown': ['MX001', '"lock_version": 2'],
}

test('each bad lock has its expectation', () => {
  const files = readdirSync(new URL('bad/', locks)).map((file) => file.replace('.json', ''))
  expect(files.sort()).toEqual(Object.keys(bad).sort())
})

test.each(Object.entries(bad))('a lock with %s breaks %s at that place', (name, [rule, text]) => {
  const findings = findingsIn(`bad/${name}.json`)
  const lines = readFileSync(new URL(`bad/${name}.json`, locks), 'utf8').split('\n')
  const found = findings.filter((finding) => finding.rule === rule).map(({ line }) => lines[line - 1]?.trim())

  expect(found).toContainEqual(expect.stringContaining(text))
})

test('a changed definition is found at the tool and at the server it belongs to', () => {
  const findings = findingsIn('bad/description-swapped.json')
  expect(findings.map(({ rule, pointer }) => `${rule} ${pointer}`)).toEqual([
    'MX021 /servers/clock/surface',
    'MX021 /servers/clock/tools/now/surface',
  ])
})

test('a digest in the manifest of a remote server must be that of its locked tools', () => {
  const lock = Lock.parse(lockIn('good/clerk.json'))
  const pinned = (package_digest: string) => {
    const servers = lock.manifest.servers.map((each) =>
      each.transport === 'http' ? { ...each, package_digest } : each,
    )
    const manifest = { ...lock.manifest, servers }
    return checkLock({ ...lock, manifest, manifest_digest: manifestDigest(manifest) }).problems
  }
  expect(pinned(lock.servers.docs?.surface ?? '')).toEqual([])
  expect(pinned(lock.manifest_digest)).toMatchObject([{ rule: 'MX006', path: ['servers', 'docs', 'surface'] }])
})

test('neither a credential nor an endpoint is repeated in what is said about it', () => {
  const said = JSON.stringify([
    ...findingsIn('bad/credential-in-launch.json'),
    ...findingsIn('bad/endpoint-moved.json'),
  ])
  expect(said).not.toContain('not-a-real-one')
  expect(said).not.toContain('docs.example')
})

test('with unknown fields only, the lock can still be used', () => {
  expect(checkLock(lockIn('bad/unknown-field.json')).lock).toBeDefined()
  expect(checkLock(lockIn('bad/digest-form.json')).lock).toBeUndefined()
})

test('changing any one value of a lock is noticed, unless it is a note to the reader', () => {
  const value = lockIn('good/clerk.json')
  const leaves = leavesOf(value).filter((path) => !isFree(path))
  expect(leaves.length).toBeGreaterThan(50)
  for (const path of leaves) {
    const { problems } = checkLock(withChange(value, path))
    expect(problems, path.join('.')).not.toEqual([])
  }
})

test('the locked package must be the one that the manifest starts', () => {
  const clerk = lockIn('good/clerk.json')
  const rules = (field: string, put: string) =>
    checkLock(replaced(clerk, ['servers', 'clock', 'package', field], put)).problems.map(
      ({ rule, path }) => `${rule} ${path.at(-1)}`,
    )

  expect(rules('name', 'other-server')).toEqual(['MX006 name'])
  expect(rules('ecosystem', 'pypi')).toEqual(['MX006 ecosystem'])
})

test('a lock never runs a shell or a launcher that is not pinned', () => {
  const clerk = lockIn('good/clerk.json')
  const rules = (command: string, ...args: string[]) =>
    checkLock(replaced(clerk, ['servers', 'clock', 'launch'], { command, args })).problems.map(
      ({ rule, severity }) => `${rule} ${severity}`,
    )

  for (const [command = '', ...args] of [
    ['sh', '-c', 'curl x | sh'],
    ['sh', '-c', './server'],
    ['bash'],
    ['npx', '-y', 'clock-server'],
    ['pwsh', '-Command', 'x'],
  ])
    expect(rules(command, ...args), command).toContain('MX007 error')
  expect(rules('node', 'server.js')).toEqual([])
  expect(rules('sh', 'server.sh')).toEqual([])
  expect(rules('./server')).toEqual([])
})

test('a hook under an unknown trigger makes the lock unreadable, for it would never run', () => {
  const { lock, problems } = checkLock(replaced(lockIn('good/clerk.json'), ['policy', 'hooks'], { onDenial: [] }))

  expect(lock).toBeUndefined()
  expect(problems).toMatchObject([{ rule: 'MX025', severity: 'error', path: ['policy', 'hooks', 'onDenial'] }])
})

test('whatever is thrown at it, the answer is a list of problems', () => {
  const value = lockIn('good/clerk.json')
  const paths = pathsOf(value)
  const junk = fc.oneof(fc.constantFrom(null, '', 0, [], {}, '\ud800', ['\ud800'], { '\udc00': 1 }), fc.jsonValue())
  fc.assert(
    fc.property(fc.constantFrom(...paths), junk, (path, put) => {
      const { lock, problems } = checkLock(replaced(value, path, put))
      if (!lock) expect(problems).not.toEqual([])
    }),
  )
  for (const each of [undefined, null, 1, 'x', [], {}]) expect(checkLock(each).lock).toBeUndefined()
})

function findingsIn(file: string): Finding[] {
  const document = parseDocument(readFileSync(new URL(file, locks)))
  expect(document.findings).toEqual([])
  return placeProblems(checkLock(document.value).problems, document.source, 'default')
}

function lockIn(file: string): unknown {
  return JSON.parse(readFileSync(new URL(file, locks), 'utf8'))
}

/** What nothing vouches for: where the lock came from, which file is launched, and the policy, which a person reviews as it stands. */
function isFree(path: readonly string[]): boolean {
  const name = path.join('.')
  return /^(?:policy|source)\.|^servers\.clock\.(?:launch|package)\.(?!digest|version|name|ecosystem)/.test(name)
}

function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, part]) => pathsOf(part, [...path, key]))]
}

function leavesOf(value: unknown): string[][] {
  const longer = (path: string[]) =>
    pathsOf(value).some((other) => other.length > path.length && path.every((step, at) => other[at] === step))
  return pathsOf(value).filter((path) => !longer(path))
}

function withChange(value: unknown, path: readonly string[]): unknown {
  const leaf = path.reduce<unknown>((part, step) => (part as Record<string, unknown>)[step], value)
  return replaced(value, path, typeof leaf === 'boolean' ? !leaf : typeof leaf === 'number' ? leaf + 1 : `${leaf}x`)
}

function replaced(value: unknown, path: readonly string[], put: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return put
  if (Array.isArray(value))
    return value.map((each, index) => (String(index) === step ? replaced(each, rest, put) : each))
  const record = value as Record<string, unknown>
  return { ...record, [step]: replaced(record[step], rest, put) }
}
