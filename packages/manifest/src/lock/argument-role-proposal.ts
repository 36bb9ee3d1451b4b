import { isRecord } from '../document/json-record.ts'
import type { ArgumentRole, ArgumentRoles } from '../manifest/argument-role.ts'
import { itemSchemas, type SchemaPart, schemaParts } from './schema-part.ts'
import type { ToolSurface } from './surface.ts'

/**
 * Which arguments seem to be paths, commands or hosts, from their names, formats and descriptions. In doubt an argument gets
 * the role: a rule then looks at one argument too many, and the user who reads the proposal can take it back.
 */
export function proposeArgumentRoles({ inputSchema }: ToolSurface): ArgumentRoles {
  const found: Record<ArgumentRole, string[]> = { paths: [], commands: [], hosts: [] }
  visit({ root: inputSchema, schemas: [inputSchema], name: '', place: '', depth: 0 }, (argument) => {
    for (const role of roleNames) if (signs[role](argument)) found[role].push(argument.place)
  })
  // A program and its arguments are one command.
  const hasCommand = found.commands.length > 0
  if (hasCommand) found.commands.push(...argumentLists(inputSchema))
  const kept = roleNames.filter((role) => found[role].length > 0)
  return Object.fromEntries(kept.map((role) => [role, [...new Set(found[role])].sort()]))
}

/** Enough for any definition; recursive ones have no end. */
const MAX_DEPTH = 8
const MAX_PLACES = 500

const roleNames = ['paths', 'commands', 'hosts'] as const

type Argument = { place: string; name: string; format: string; description: string }
type Step = { root: unknown; schemas: readonly unknown[]; name: string; place: string; depth: number }

const pathName =
  /(?:^|_)(?:paths?|files?|file_?names?|file_?paths?|dirs?|dir_?names?|director(?:y|ies)|folders?|folder_?names?|sources?|destinations?|src|dst|dest|cwd|roots?|workdir|working_dir|worktree|workspace|pathname|outfile|infile|outdir|globs?|repo|repository)$|^path_to_/
const pathFormat = /^(?:file-?|directory-?)?path$/
const pathWords =
  /\b(?:absolute|relative|full|file|directory|folder|local|file ?system) paths?\b|\bpaths? (?:to|of|where|for|in|on)\b|\bfile:\/\/|\b(?:file|directory|folder)s? (?:to|where|in which) /i
const commandName = /(?:^|_)(?:commands?|cmds?|cmd_?line|command_?line|scripts?|bash|shell|exec)$/
const commandWords =
  /\b(?:shell|bash|terminal|command[- ]line) (?:commands?|scripts?)\b|\b(?:commands?|scripts?) to (?:run|execute)\b/i
const hostName =
  /(?:^|_)(?:urls?|uris?|endpoints?|hosts?|host_?names?|domains?|web_?hooks?|ip|ip_?address|origins?|links?|hrefs?)$/
const hostFormat = /^(?:uri|url|iri|uri-reference|hostname|idn-hostname|ipv4|ipv6)$/
const hostWords =
  /^(?:(?:the|a|an|full|target|base|public|web|website|optional|list of|array of)\s+)*(?:urls?|uris?|host ?names?|endpoints?|domains?)\b|\burls? (?:to|of|for)\b|\bhttps?:\/\//i

const signs: Record<ArgumentRole, (argument: Argument) => boolean> = {
  paths: ({ name, format, description }) =>
    pathName.test(name) || pathFormat.test(format) || pathWords.test(description),
  commands: ({ name, description }) => commandName.test(name) || commandWords.test(description),
  hosts: ({ name, format, description }) =>
    hostName.test(name) || hostFormat.test(format) || hostWords.test(description),
}

function visit(step: Step, found: (argument: Argument) => void, count = { left: MAX_PLACES }): void {
  const { root, schemas, name, place, depth } = step
  count.left -= 1
  if (depth > MAX_DEPTH || count.left < 0) return
  const parts = schemas.flatMap((each) => schemaParts(each, root))
  if (name !== '' && parts.some(isText)) found(argumentOf(parts, name, place))
  for (const [key, inner] of fieldsOf(parts))
    visit(
      { root, schemas: inner, name: snake(key), place: place ? `${place}.${key}` : key, depth: depth + 1 },
      found,
      count,
    )
  const items = parts.flatMap(itemSchemas)
  if (items.length > 0)
    visit({ root, schemas: [...items, ...texts(parts)], name, place: `${place}[]`, depth: depth + 1 }, found, count)
}

function fieldsOf(parts: readonly SchemaPart[]): [string, unknown[]][] {
  const fields = new Map<string, unknown[]>()
  const add = (name: string, schema: unknown) => fields.set(name, [...(fields.get(name) ?? []), schema])
  for (const { properties } of parts)
    if (isRecord(properties)) for (const [name, schema] of Object.entries(properties)) add(name, schema)
  return [...fields]
}

/** The words about a list are words about its members. */
function texts(parts: readonly SchemaPart[]): unknown[] {
  return parts.flatMap(({ description }) => (typeof description === 'string' ? [{ description }] : []))
}

/** Whether a text may stand there. One of a few given texts aims at nothing. */
function isText({ type, enum: choices, ...rest }: SchemaPart): boolean {
  if (Array.isArray(choices)) return false
  if (type !== undefined) return type === 'string' || (Array.isArray(type) && type.includes('string'))
  return !['properties', 'items', 'anyOf', 'oneOf', 'allOf', '$ref'].some((key) => rest[key] !== undefined)
}

function argumentOf(parts: readonly SchemaPart[], name: string, place: string): Argument {
  const said = (key: string) => parts.flatMap((part) => (typeof part[key] === 'string' ? [part[key]] : []))
  return { place, name, format: said('format')[0] ?? '', description: said('description').join(' ').slice(0, 300) }
}

function argumentLists({ properties }: ToolSurface['inputSchema']): string[] {
  return isRecord(properties) ? Object.keys(properties).filter((name) => /^(?:args|arguments|argv)$/i.test(name)) : []
}

function snake(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
}
