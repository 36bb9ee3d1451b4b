import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import { reservedAliases } from '../manifest/own-server.ts'
import { compileGlob, hasWildcard, matchesGlob } from '../policy/glob.ts'
import { splitReference } from '../policy/tool-pattern.ts'
import { isForeignTool, nativeTools, resolveNativeTools } from './native-tool-alias.ts'

/** What is wrong with a reference, to be placed by whoever knows where it stands. */
export type ReferenceProblem = Omit<Problem, 'path' | 'at'>

/** The references in their one normal spelling that an author's entry comes down to; none when it has no effect. */
export type ResolvedReference = { references: string[]; problems: ReferenceProblem[] }

type Reference =
  | { kind: 'native'; pattern: string }
  | { kind: 'server'; server: string; tool: string | undefined }
  | { kind: 'agent' }

const everyServer = /^@[*?/]*\*[*?/]*$/

/** An entry of `tools`; a `*` must be judged with its neighbours and is not passed in here. */
export function resolveVisible(text: string, servers: readonly string[]): ResolvedReference {
  return resolve(text, servers, (reference) => {
    if (reference.kind === 'native') {
      if (reference.pattern === '*') return only('@builtin')
      return hasWildcard(reference.pattern) ? without(patternInTools(text)) : resolveNative(reference.pattern, text)
    }
    const { server, tool } = reference
    if (tool === undefined || tool === '' || tool === '*') return only(`@${server}`)
    return hasWildcard(server + tool) ? without(patternInTools(text)) : only(`@${server}/${tool}`)
  })
}

/** An entry of `allowedTools`. */
export function resolveAllowed(text: string, servers: readonly string[]): ResolvedReference {
  return resolve(text, servers, (reference) => {
    if (reference.kind === 'server') return resolveServerPattern(reference, text)
    const resolved = resolveNative(reference.pattern, text)
    const isEverything = resolved.references.length === nativeTools.length
    // `@builtin` says that it means all native tools; a bare wildcard only happens to.
    if (isEverything && !text.startsWith('@')) return without(everythingAllowed(text, 'error'))
    return isEverything ? only('@builtin') : resolved
  })
}

/** The matcher of a hook. */
export function resolveMatcher(text: string, servers: readonly string[]): ResolvedReference {
  if (text === '*') return only('*')
  return resolve(text, servers, (reference) => {
    if (reference.kind === 'server') {
      const { references, problems } = resolveServerPattern(reference, text)
      // To run for everything is a fine thing for a hook.
      return { references, problems: problems.filter(({ rule }) => rule !== 'MX019') }
    }
    return reference.pattern === '*' ? only('@builtin') : resolveNative(reference.pattern, text)
  })
}

/** A key of `toolsSettings`, which names one tool and nothing wider. */
export function resolveSettingsKey(text: string, servers: readonly string[]): ResolvedReference {
  // Settings of a server that is not there do nothing, whichever way its tool is spelled.
  if (text.startsWith('@') && !text.includes('/') && withoutDot(text, servers) === undefined)
    return without({
      rule: 'MX027',
      message: `${quoteText(text)} names a tool of a server that mcpServers does not declare; the settings have no effect.`,
      fix: 'Declare the server in mcpServers, or remove the settings.',
    })
  return resolve(text, servers, (reference) => {
    const tool = reference.kind === 'native' ? reference.pattern : reference.tool
    const server = reference.kind === 'native' ? '' : reference.server
    if (tool === undefined || tool === '' || hasWildcard(server + tool))
      return without({
        rule: 'MX027',
        message: `${quoteText(text)} names no single tool, so its settings have no effect.`,
        fix: 'Give settings to each tool by its own name.',
      })
    return reference.kind === 'native' ? commandsOnly(resolveNative(tool, text)) : only(`@${reference.server}/${tool}`)
  })
}

/** Rules about commands hold where commands are given: whoever looks after one in the background gives none. */
function commandsOnly({ references, problems }: ResolvedReference): ResolvedReference {
  const isShell = references.includes('bash')
  return { references: isShell ? references.filter((each) => each !== 'background') : references, problems }
}

function resolve(
  text: string,
  servers: readonly string[],
  spell: (reference: Exclude<Reference, { kind: 'agent' }>) => ResolvedReference,
): ResolvedReference {
  const { reference, problems } = readReference(text, servers)
  if (!reference) return { references: [], problems }
  if (reference.kind === 'agent')
    return without({
      rule: 'MX029',
      message: `${quoteText(text)} offers another agent as a tool; here agents reach each other through tasks.`,
      fix: 'Leave it out; the tool create_task gives work to another agent.',
    })
  const resolved = spell(reference)
  return { references: resolved.references, problems: [...problems, ...resolved.problems] }
}

function readReference(
  text: string,
  servers: readonly string[],
): { reference?: Reference; problems: ReferenceProblem[] } {
  if (text.startsWith('#')) return { reference: { kind: 'agent' }, problems: [] }
  if (text.trim() === '' || /^@(?:$|\/)/.test(text))
    return {
      problems: [{ rule: 'MX001', message: `${quoteText(text)} names no tool.`, fix: 'Name a tool, or remove it.' }],
    }
  if (hasWildcard(text) && !compileGlob(text))
    return {
      problems: [
        { rule: 'MX001', message: `${quoteText(text)} is not a well-formed pattern.`, fix: 'Close its brackets.' },
      ],
    }
  if (!text.startsWith('@')) return { reference: { kind: 'native', pattern: text }, problems: [] }

  const slashed = withoutDot(text, servers)
  if (slashed === undefined) return { problems: [unreadableDot(text)] }
  const [server, tool] = splitReference(slashed)
  const problems: ReferenceProblem[] = slashed === text ? [] : [readableDot(text, slashed)]
  if (reservedAliases.includes(server)) return { reference: { kind: 'native', pattern: tool || '*' }, problems }
  if (!mayBeDeclared(slashed, servers)) problems.push(undeclared(text, server))
  return { reference: { kind: 'server', server, tool }, problems }
}

/**
 * `@server.tool` as `@server/tool`, when it can mean nothing else; `undefined` when the server is not declared.
 * The name of a declared server may itself hold dots.
 */
function withoutDot(text: string, servers: readonly string[]): string | undefined {
  const dot = text.indexOf('.')
  if (dot === -1 || text.includes('/') || isDeclared(text.slice(1), servers)) return text
  const server = text.slice(1, dot)
  const isKnown = servers.includes(server) || reservedAliases.includes(server)
  return isKnown && dot < text.length - 1 ? `@${server}/${text.slice(dot + 1)}` : undefined
}

function isDeclared(server: string, servers: readonly string[]): boolean {
  return servers.some((each) => matchesGlob(server, each))
}

/** A star may stand for the slash as well, so that without one only the text before the first wildcard is sure. */
function mayBeDeclared(reference: string, servers: readonly string[]): boolean {
  const [server] = splitReference(reference)
  const isOpen = hasWildcard(reference) && !reference.includes('/')
  const [start = ''] = server.split(/[*?[{\\]/, 1)
  return isDeclared(server, servers) || (isOpen && servers.some((each) => each.startsWith(start)))
}

function resolveNative(pattern: string, text: string): ResolvedReference {
  const references = resolveNativeTools(pattern)
  if (references.length > 0) return { references, problems: [] }
  const message = isForeignTool(pattern)
    ? `Matrix has no counterpart of the native tool ${quoteText(text)}; the entry has no effect.`
    : `No native tool is called ${quoteText(text)}; the entry has no effect.`
  return without({ rule: 'MX027', message })
}

function resolveServerPattern(
  { server, tool }: Extract<Reference, { kind: 'server' }>,
  text: string,
): ResolvedReference {
  if (tool === '')
    return without({ rule: 'MX027', message: `${quoteText(text)} names no tool; the entry has no effect.` })
  const reference = tool === undefined || tool === '*' ? `@${server}` : `@${server}/${tool}`
  return {
    references: [reference],
    problems: everyServer.test(reference) ? [everythingAllowed(text, 'warning')] : [],
  }
}

function everythingAllowed(text: string, severity: 'error' | 'warning'): ReferenceProblem {
  const which = severity === 'error' ? 'every native tool, shell included,' : 'every tool of every server'
  return { rule: 'MX019', severity, message: `${quoteText(text)} would let ${which} run without asking.` }
}

function patternInTools(text: string): ReferenceProblem {
  return {
    rule: 'MX027',
    message: `${quoteText(text)} is a pattern, which "tools" does not have; the entry shows nothing.`,
    fix: 'Name each tool, or write @server for all tools of a server.',
  }
}

function undeclared(text: string, server: string): ReferenceProblem {
  return {
    rule: 'MX027',
    message: `${quoteText(text)} names the server ${quoteText(server)}, which mcpServers does not declare.`,
  }
}

function readableDot(text: string, slashed: string): ReferenceProblem {
  return {
    rule: 'MX018',
    message: `${quoteText(text)} is read as ${quoteText(slashed)}.`,
    fix: `Write ${quoteText(slashed)}.`,
  }
}

function unreadableDot(text: string): ReferenceProblem {
  return {
    rule: 'MX018',
    severity: 'error',
    message: `${quoteText(text)} has a dot where a slash belongs, and no declared server stands before it.`,
    fix: 'Write @server/tool with the name of a server from mcpServers.',
  }
}

function only(reference: string): ResolvedReference {
  return { references: [reference], problems: [] }
}

function without(problem: ReferenceProblem): ResolvedReference {
  return { references: [], problems: [problem] }
}
