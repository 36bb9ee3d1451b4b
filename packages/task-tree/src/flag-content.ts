import type { FlagRule } from './flag-rules.ts'

/** The text of a file; `null` where it is too large or cannot be read, nothing where there is no file. */
export type Content = string | null | undefined

/** Whether what a rule looks at differs between the two. What cannot be read counts as different. */
export function differs(rule: FlagRule, old: Content, now: Content): boolean {
  const { lines, unlessLines, keys, sources, hosts } = rule
  if (!lines && !unlessLines && !keys && !sources && !hosts) return true
  if (now === null || old === null) return true
  const changed = changedLines(old ?? '', now ?? '')
  if (lines) return changed.some((line) => lines.test(line))
  if (unlessLines) return changed.some((line) => !unlessLines.test(line))
  if (hosts) return hasNewHost(hosts, old ?? '', now ?? '')
  return jsonDiffers(rule, old, now)
}

function changedLines(old: string, now: string): string[] {
  const [before, after] = [splitLines(old), splitLines(now)]
  const [known, kept] = [new Set(before), new Set(after)]
  return [...after.filter((line) => !known.has(line)), ...before.filter((line) => !kept.has(line))]
}

function splitLines(text: string): string[] {
  return text.split(/\r\n|[\r\n\u2028\u2029]/)
}

const address = /(?:[a-z][a-z0-9+.-]*:\/\/|git@)(?:[^@/\s"']*@)?(\[[0-9a-f:.]+\]|[^/\s"':#?)]+)/gi
// Where packages come from when nothing else is said.
const registries = [
  'registry.npmjs.org',
  'registry.yarnpkg.com',
  'pypi.org',
  'files.pythonhosted.org',
  'github.com',
  'crates.io',
  'index.crates.io',
  'rubygems.org',
  'jsr.io',
  'npm.jsr.io',
]

function hasNewHost(lines: RegExp, old: string, now: string): boolean {
  const known = new Set([...registries.filter((host) => host !== 'github.com'), ...hostsOf(lines, old)])
  const isCargo = /registry\+https:\/\/github\.com\/rust-lang\/crates\.io-index/.test(now)
  return hostsOf(lines, now).some((host) => !known.has(host) && !(isCargo && host === 'github.com'))
}

function hostsOf(lines: RegExp, text: string): string[] {
  const naming = splitLines(text).filter((line) => lines.test(line))
  return naming.flatMap((line) => [...line.matchAll(address)].map(([, host = '']) => host.toLowerCase()))
}

function jsonDiffers({ keys = [], sources = [] }: FlagRule, old: Content, now: Content): boolean {
  const [before, after] = [parse(old), parse(now)]
  if (after === undefined) return true
  const isOther = (key: string) => JSON.stringify(valueAt(before, key)) !== JSON.stringify(valueAt(after, key))
  return keys.some(isOther) || sources.some((key) => hasNewSource(valueAt(before, key), valueAt(after, key)))
}

function parse(text: Content): unknown {
  try {
    return typeof text !== 'string' ? {} : JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}

function valueAt(value: unknown, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value)
}

/** A version, a range of them, a tag, or another name in the registry or the workspace. */
const registrySpec =
  /^\s*(workspace:[\w.*^~-]*|catalog:[\w-]*|(npm|jsr):[\w.*^~<>=|+@/ -]*|(?!\.)(?!.*\.(tgz|tar|tar\.gz)\s*$)[\w.*^~<>=|+ -]*)\s*$/i

function hasNewSource(before: unknown, after: unknown): boolean {
  const known = isObject(before) ? before : {}
  const entries = isObject(after) ? Object.entries(after) : []
  return entries.some(([name, spec]) => spec !== known[name] && (typeof spec !== 'string' || !registrySpec.test(spec)))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
