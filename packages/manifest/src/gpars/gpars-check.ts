import { BUILTIN_ALIAS } from '@matrix/protocol'
import type { Problem } from '../document/finding.ts'
import { isRecord, type JsonRecord, own } from '../document/json-record.ts'
import { quoteText } from '../document/quoted-text.ts'
import { type FieldRule, inOtherFormat, schemaProblems } from '../document/schema-problems.ts'
import { addCredentials, findHidden } from '../document/text-check.ts'
import { reservedAliases } from '../manifest/own-server.ts'
import { type Gpars, GparsCapabilities, type GparsOptionalServer, GparsRequirements } from './gpars.ts'

export type GparsCheck = { gpars: Gpars | undefined; problems: Problem[] }

const serverFields = ['required_mcp_servers', 'optional_mcp_servers'] as const

/** Everything about a GPARS manifest that can be told from the document alone. */
export function checkGpars(value: unknown): GparsCheck {
  const isMixed = isRecord(value) && hasCapabilities(value) && serverFields.some((field) => Object.hasOwn(value, field))
  if (isMixed) {
    // Each shape forbids the other's fields; the first one is looked at without them, for what else there is to say.
    const { capabilities: _other, ...requirements } = value
    return { gpars: undefined, problems: addCredentials([mixedShapes, ...checkShape(requirements).problems], value) }
  }
  const { gpars, problems } = checkShape(value)
  return { gpars, problems: addCredentials(problems, value) }
}

const mixedShapes: Problem = {
  rule: 'MX001',
  path: ['capabilities'],
  at: 'key',
  message: 'The document mixes the two published shapes: "capabilities" has no place beside lists of servers.',
  fix: 'Keep either the lists of servers or "capabilities".',
}

function hasCapabilities(value: unknown): boolean {
  return isRecord(value) && Object.hasOwn(value, 'capabilities')
}

function checkShape(value: unknown): GparsCheck {
  const schema = hasCapabilities(value) ? GparsCapabilities : GparsRequirements
  const parsed = schema.safeParse(value)
  const problems = parsed.success
    ? []
    : schemaProblems(parsed.error, value, ruleOfField).map(inOtherFormat).map(unknownIsError)
  const isReadable = problems.every(({ rule }) => rule === 'MX025')
  // The schema changes nothing in what it accepts, so with only unknown fields to complain of, the document is the manifest.
  const gpars = isReadable ? (value as Gpars) : undefined
  const extensions = own(value, 'extensions')
  return {
    gpars,
    problems: [
      ...problems,
      ...(gpars ? meaningProblems(gpars) : []),
      ...(isRecord(extensions) ? extensionProblems(extensions) : []),
    ],
  }
}

const ruleOfField: FieldRule = ({ path }) => (path.length === 1 && path[0] === 'id' ? { rule: 'MX026' } : undefined)

/** The format forbids them, where others only ignore them. What an editor needs is forgiven. */
function unknownIsError(problem: Problem): Problem {
  if (problem.rule !== 'MX025') return problem
  const isEditorHint = problem.path.length === 1 && problem.path[0] === '$schema'
  return isEditorHint
    ? { ...problem, message: 'GPARS has no field "$schema"; other programs may refuse the document.' }
    : { ...problem, severity: 'error' }
}

function meaningProblems(gpars: Gpars): Problem[] {
  return [
    ...findHidden(gpars.id, ['id']),
    ...('capabilities' in gpars ? capabilityProblems(gpars) : serverProblems(gpars)),
  ]
}

function serverProblems(gpars: GparsRequirements): Problem[] {
  const seen = new Set<string>()
  return serverFields.flatMap((field) =>
    (gpars[field] ?? []).flatMap((server: GparsOptionalServer, index): Problem[] => {
      const isTwice = seen.has(server.server_id)
      seen.add(server.server_id)
      const path = [field, index, 'server_id']
      return [
        ...findHidden(server.server_id, path),
        ...(isTwice ? [listedTwice(server.server_id, path)] : []),
        ...reservedNames(server.server_id, path),
        ...missingFields(server, [field, index]),
      ]
    }),
  )
}

/** The last part becomes the alias. `mxd` alone asks for Matrix's own tools; behind a registry's name it is another server. */
function reservedNames(serverId: string, path: (string | number)[]): Problem[] {
  const last = serverId.replace(/^.*\//s, '').toLowerCase()
  if (!reservedAliases.includes(last) || serverId === BUILTIN_ALIAS) return []
  const message = `The server ${quoteText(serverId)} would take the alias "${last}", which is reserved for the tools of Matrix itself.`
  return [{ rule: 'MX002', path, message }]
}

/** The schema lets an optional server go without them; the specification says that it has the same form as a required one. */
function missingFields(server: GparsOptionalServer, path: (string | number)[]): Problem[] {
  const missing = (['version', 'permission_scopes'] as const).filter((field) => server[field] === undefined)
  if (missing.length === 0) return []
  return [
    {
      rule: 'MX001',
      severity: 'warning',
      path,
      message: `The optional server ${quoteText(server.server_id)} does not say its ${missing.join(' and ')}.`,
      fix: `Add ${missing.join(' and ')}, as a required server has them.`,
    },
  ]
}

function listedTwice(serverId: string, path: (string | number)[]): Problem {
  return {
    rule: 'MX001',
    severity: 'warning',
    path,
    message: `The server ${quoteText(serverId)} is listed twice.`,
    fix: 'Keep one entry, with all that the agent needs of the server.',
  }
}

function capabilityProblems({ capabilities }: GparsCapabilities): Problem[] {
  const seen = new Set<string>()
  return capabilities.flatMap(({ id, description }, index) => {
    const path = ['capabilities', index]
    const problems = [...findHidden(id, [...path, 'id']), ...findHidden(description, [...path, 'description'])]
    if (seen.has(id))
      problems.push({
        rule: 'MX001',
        path: [...path, 'id'],
        message: `Two capabilities are called ${quoteText(id)}, so that nothing can refer to either.`,
        fix: 'Give each its own id.',
      })
    seen.add(id)
    return problems
  })
}

function extensionProblems(extensions: JsonRecord): Problem[] {
  const unnamed = Object.keys(extensions).filter((key) => !/^[a-z0-9-]+(?:\.[a-z0-9_-]+)+$/i.test(key))
  return [
    ...unnamed.map(
      (key): Problem => ({
        rule: 'MX001',
        severity: 'note',
        path: ['extensions', key],
        at: 'key',
        message: `The extension ${quoteText(key)} may collide with another of that name.`,
        fix: 'Start its name with a domain turned round, such as org.example.research.',
      }),
    ),
  ]
}
