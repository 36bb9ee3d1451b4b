import { reservedAliases } from '../manifest/own-server.ts'
import { MAX_ALIAS_LENGTH } from '../manifest/tool-uri.ts'

/** Turns whatever a server is called into an alias of its own; call it for one file's servers in their order. */
export function openAliases(): (name: string) => string {
  const taken = new Set(reservedAliases)
  const counts = new Map<string, number>()
  return (name) => {
    const base = slug(name) || 'server'
    let alias = base
    while (taken.has(alias)) {
      const count = (counts.get(base) ?? 1) + 1
      counts.set(base, count)
      const start = trimmed(base.slice(0, MAX_ALIAS_LENGTH - `-${count}`.length))
      alias = `${start}-${count}`
    }
    taken.add(alias)
    return alias
  }
}

/** A registry calls a server `io.github.owner/name`: what comes last is what people say. */
function slug(name: string): string {
  const last = name.slice(0, 200).replace(/\/+$/, '').replace(/^.*\//s, '')
  const plain = last
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/_{2,}/g, '_')
  return trimmed(trimmed(plain).slice(0, MAX_ALIAS_LENGTH))
}

function trimmed(text: string): string {
  return text.replace(/^[-_]+|[-_]+$/g, '')
}
