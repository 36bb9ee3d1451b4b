import { readAssignments, resolveEnvironment, type Server } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { Redactor } from './redactor.ts'

/** Where `$env:NAME` is looked up: the environment of the process, unless somebody knows better. */
export type Lookup = (name: string) => string | undefined

export type Credentials = {
  /** The variables of a stdio server, or the headers of an http one. */
  assignments: Record<string, string>
  args: string[]
  endpoint: string | undefined
}

/**
 * Puts values in place of references, at the moment a server is started and not before. Every value that came from the
 * environment is made known to the redactor first; if one is missing, nothing starts.
 */
export function resolveCredentials(server: Server, lookUp: Lookup, redactor: Redactor): Credentials {
  const missing = new Set<string>()
  const resolve = (text: string): string => {
    const resolved = resolveEnvironment(text, (name) => {
      const value = lookUp(name)
      if (value !== undefined) redactor.add(name, value)
      return value
    })
    if ('text' in resolved) return resolved.text
    for (const name of resolved.missing) missing.add(name)
    return ''
  }
  const entries = readAssignments(server.transport === 'stdio' ? server.env : server.headers)
  const assignments = Object.fromEntries(entries.map(({ name, value }) => [name, resolve(value)]))
  const args = server.transport === 'stdio' ? (server.args ?? []).map(resolve) : []
  const endpoint = server.transport === 'http' ? resolve(server.endpoint) : undefined
  if (missing.size > 0) throw missingError(server.alias, [...missing])
  for (const { name, value } of entries) checkUsable(server, name, { written: value, value: assignments[name] ?? '' })
  args.forEach((value, index) => {
    checkUsable(server, `argument ${index}`, {
      written: server.transport === 'stdio' ? server.args?.[index] : '',
      value,
    })
  })
  return { assignments, args, endpoint }
}

function missingError(alias: string, names: string[]): MatrixError {
  const [verb, them] = names.length === 1 ? ['is', 'it'] : ['are', 'them']
  return new MatrixError('CREDENTIAL_MISSING', `"${alias}" was not started: ${names.join(', ')} ${verb} not set.`, {
    hint: `Set ${them} in the environment of Matrix, then try again.`,
  })
}

/** What a header, and what a variable or argument of a program, cannot hold. A header is trimmed before it is sent. */
const unusable = {
  http: /[^\t\x20-\x7E\x80-\xFF]/,
  stdio: /\0/,
}

/** Node and fetch refuse such a value with an error that repeats it, so it is refused here first. */
function checkUsable(
  { alias, transport }: Server,
  name: string,
  { written = '', value }: { written: string | undefined; value: string },
): void {
  const text = transport === 'http' ? value.trim() : value
  if (!unusable[transport].test(text)) return
  const references = [...written.matchAll(/\$env:(\w+)/g)].map(([, variable]) => variable)
  const from = references.length > 0 ? `, from ${references.join(', ')},` : ''
  const holds = transport === 'http' ? 'a line break or another character that headers cannot hold' : 'a NUL character'
  throw new MatrixError('CREDENTIAL_UNUSABLE', `"${alias}" was not started: its ${name}${from} holds ${holds}.`)
}
