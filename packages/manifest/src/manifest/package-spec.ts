import { isLiteralCredential } from './credential.ts'

export type Ecosystem = 'npm' | 'pypi' | 'oci' | 'nuget'

/** `@scope/name@1.2.3`, `name==1.2.3`, `image:tag`: the name, and the version as far as the spec carries one. */
export function parsePackageSpec(ecosystem: Ecosystem, spec: string): { name: string; version: string | undefined } {
  const { name, version } = splitSpec(ecosystem, spec)
  const shown = withoutUrlSecrets(version ?? '')
  return {
    name: isLiteralCredential('', name) ? '(a credential)' : name,
    version: version === undefined || isLiteralCredential('', shown) ? undefined : shown,
  }
}

function splitSpec(ecosystem: Ecosystem, spec: string): { name: string; version: string | undefined } {
  if (ecosystem === 'oci') return parseImage(spec)
  if (/^[a-z][a-z+]*:\/\//.test(spec)) {
    const [, name = spec, version] = /^(.*?)(?:[#@]([^/#@]+))?$/s.exec(withoutUrlSecrets(spec)) ?? []
    return { name, version }
  }
  if (ecosystem === 'pypi') {
    const [, name = spec, version] = /^([\w.-]+)\s*(?:\[[^\]]*\])?\s*(?:==|@)?\s*(.+)?$/s.exec(spec) ?? []
    return { name, version }
  }
  const at = spec.indexOf('@', 1)
  return at === -1 ? { name: spec, version: undefined } : { name: spec.slice(0, at), version: spec.slice(at + 1) }
}

function withoutUrlSecrets(text: string): string {
  return text.replace(/:\/\/[^/?#\s]*@/, '://').replace(/\?[^#]*/, '')
}

function parseImage(reference: string): { name: string; version: string | undefined } {
  const digest = reference.indexOf('@')
  if (digest !== -1)
    return { name: reference.slice(0, digest).replace(/:[^/]*$/, ''), version: reference.slice(digest + 1) }
  const tag = /^(.*):([^/:]+)$/.exec(reference)
  return { name: tag?.[1] ?? reference, version: tag?.[2] }
}
