export type Severity = 'error' | 'warning' | 'note'

export type Rule = {
  /** A few words, for lists. */
  title: string
  severity: Severity
  /** The locked design rule of the manifest format that this one enforces. */
  locked?: 'Q15' | 'Q17' | 'Q18' | 'Q19' | 'Q21' | 'Q22'
  why: string
  fix: string
}

/** Everything that can be found in a manifest. Ids are stable: they stand in SARIF files and in people's CI. */
export const rules = {
  MX001: {
    title: 'the document does not have the form of its format',
    severity: 'error',
    why: 'A manifest that is not well-formed, or in which a field is missing or of the wrong type, says nothing that could be enforced.',
    fix: 'Give the field the type and value that the message names; `matrix schema` prints the whole schema for your editor.',
  },
  MX002: {
    title: 'server alias',
    severity: 'error',
    locked: 'Q17',
    why: 'The alias is part of every tool URI and of the name the model sees (`mcp__<alias>__<tool>`). Two servers with one alias, or an alias with `__` in it, would make those names ambiguous.',
    fix: 'Use up to 32 lower-case letters, digits, `-` and single `_`, start with a letter or digit, and give each server its own.',
  },
  MX003: {
    title: 'transport and how to reach the server',
    severity: 'error',
    locked: 'Q15',
    why: 'A server is either started here (`stdio`, needs `command`) or reached by streamable HTTP (`http`, needs `endpoint`). Anything else cannot be run, and an unencrypted endpoint elsewhere on the network can be changed on the way.',
    fix: 'Set `transport` to "stdio" with `command` and `args`, or to "http" with an https `endpoint`.',
  },
  MX004: {
    title: 'form of the package digest',
    severity: 'error',
    locked: 'Q22',
    why: 'The digest is compared byte by byte with the package before it runs; only one spelling is accepted.',
    fix: 'Write `sha256:` and 64 lower-case hex digits; `matrix digest <package>@<version>` prints it.',
  },
  MX005: {
    title: 'placeholder digest',
    severity: 'error',
    locked: 'Q22',
    why: 'A digest of one or two repeated digits stands for no package at all: anything could run under it.',
    fix: 'Put in the real one from `matrix digest <package>@<version>`, or pass --bootstrap while you are still trying things out.',
  },
  MX006: {
    title: 'package digest does not match',
    severity: 'error',
    locked: 'Q22',
    why: 'The package that would run is not the one the manifest was written for.',
    fix: 'Find out why the package changed before you accept the new digest.',
  },
  MX007: {
    title: 'launcher not pinned to the version',
    severity: 'error',
    locked: 'Q17',
    why: 'Without the same version in the launch arguments, the launcher fetches whatever is newest, under the pin of something else.',
    fix: 'Write the version into the argument: `name@<version>` for npx, `name==<version>` or `name@<version>` for uvx, a tag or digest for an image.',
  },
  MX008: {
    title: 'literal credential',
    severity: 'error',
    locked: 'Q18',
    why: 'Manifests are shared, committed and addressed by content: a credential in one is published. The value itself is never printed.',
    fix: 'Put the value into an environment variable and write `$env:NAME` in its place; then revoke the value that was in the file.',
  },
  MX009: {
    title: 'environment reference',
    severity: 'error',
    locked: 'Q18',
    why: "A reference that does not resolve means the server is not started; another program's spelling (`${NAME}`) would reach the server as it stands.",
    fix: 'Write `$env:NAME` with a name of letters, digits and `_`, and set that variable where Matrix runs.',
  },
  MX010: {
    title: 'declared tool is missing from the server',
    severity: 'error',
    locked: 'Q21',
    why: 'Declared and advertised tools must be the same set. A tool that vanished usually means another version or another server.',
    fix: 'Check the version; remove the tool from the manifest if the server really dropped it.',
  },
  MX011: {
    title: 'tools of the server are not declared',
    severity: 'error',
    locked: 'Q21',
    why: "The list in the manifest must be exhaustive: a tool that nobody classified must not come within an agent's reach.",
    fix: 'Read what the tool does, then declare it with its side_effect_class.',
  },
  MX012: {
    title: 'tool listed twice',
    severity: 'error',
    locked: 'Q21',
    why: 'Two entries for one tool can disagree about what it may do, and the list is compared as a set.',
    fix: 'Keep one entry for each tool.',
  },
  MX013: {
    title: 'side effect not allowed for this agent',
    severity: 'note',
    why: 'The tool is declared, as it must be, but its class is not in allowed_side_effects: every call to it is denied.',
    fix: 'Nothing, if that is intended. Otherwise add the class to allowed_side_effects.',
  },
  MX014: {
    title: "side_effect_class contradicts the server's annotations",
    severity: 'warning',
    why: 'The server itself says that the tool does more than its class admits. Annotations are never trusted to allow anything, but they are reason to look again.',
    fix: 'Read what the tool does and give it the stronger class.',
  },
  MX015: {
    title: 'tool URI without a pin',
    severity: 'error',
    locked: 'Q17',
    why: 'A bare URI means whatever is installed today, which no manifest can vouch for.',
    fix: 'End the URI with `@<semver>` or `@sha256:<64 hex digits>`.',
  },
  MX016: {
    title: 'tool URI that names no declared tool',
    severity: 'error',
    locked: 'Q17',
    why: 'The URI is not well-formed, or no server of the manifest has that alias, tool and pin: the call can never be resolved.',
    fix: 'Use the alias, tool name and version exactly as the manifest declares them.',
  },
  MX017: {
    title: 'SSE-only server',
    severity: 'error',
    locked: 'Q15',
    why: 'The HTTP+SSE transport is deprecated in MCP and not supported here.',
    fix: "Use the server's streamable HTTP endpoint (often the same address with /mcp instead of /sse), or run it over stdio.",
  },
  MX018: {
    title: 'tool reference with a dot',
    severity: 'warning',
    why: '`@server.tool` is read by other programs as a server of that whole name, so it grants nothing there.',
    fix: 'Write `@server/tool`.',
  },
  MX019: {
    title: 'wildcard for everything in allowedTools',
    severity: 'error',
    why: 'A bare `*` would let every native tool run unasked, shell included; its meaning differs between programs.',
    fix: 'Name the tools, or use `@server` or `@builtin` for all tools of one server.',
  },
  MX020: {
    title: 'could not be verified',
    severity: 'warning',
    why: 'The server or registry did not answer, or this machine lacks the tool to check it. Unverified is never reported as verified.',
    fix: 'Make it reachable and run the verification again.',
  },
  MX021: {
    title: 'tool definition changed',
    severity: 'error',
    why: 'Same name, other content: description, schema or annotations differ from what was locked. This is how a tool is poisoned after it was approved.',
    fix: 'Read the difference; lock again only if it is wanted.',
  },
  MX022: {
    title: 'duplicate key in JSON',
    severity: 'error',
    why: 'Parsers disagree about which of two equal keys counts, so two programs can read two different manifests from one file.',
    fix: 'Remove one of the two.',
  },
  MX023: {
    title: 'chain tools do not run in this version',
    severity: 'warning',
    locked: 'Q19',
    why: 'native_tools and the side effect class "chain" have their place in the format but nothing behind them yet: a call is always refused.',
    fix: 'Leave them out, or keep them in the knowledge that they do nothing.',
  },
  MX024: {
    title: 'hidden characters',
    severity: 'error',
    why: 'Zero-width, bidirectional, tag or control characters are invisible to the person who reviews a manifest and legible to the model that reads it.',
    fix: 'Delete the characters whose code points are named.',
  },
  MX025: {
    title: 'unknown field',
    severity: 'warning',
    why: 'A field that nothing reads is usually a misspelling of one that matters.',
    fix: 'Correct the name or remove the field.',
  },
  MX026: {
    title: 'name of the agent',
    severity: 'error',
    why: 'Names become file names, URIs and branch names on every system, so each format restricts them.',
    fix: 'Use the form that the message names.',
  },
  MX027: {
    title: 'reference to something that is not declared',
    severity: 'warning',
    why: 'A tool, server or setting that names nothing in the file has no effect, although it looks as if it had.',
    fix: 'Correct the reference or declare what it names.',
  },
  MX028: {
    title: 'child allows more than its parent',
    severity: 'error',
    why: "An agent may only hand on what it has. A child with another tool, pin, side effect, path or host would be a way round its parent's manifest.",
    fix: 'Remove from the child what the parent does not allow.',
  },
  MX029: {
    title: 'left to do after an import',
    severity: 'note',
    why: 'The source says less than a manifest needs, or says something that Matrix has no place for.',
    fix: 'Do what the message names, by hand or with `matrix lock`.',
  },
} as const satisfies Record<string, Rule>

export type RuleId = keyof typeof rules

export function findRule(id: string): Rule | undefined {
  return Object.hasOwn(rules, id) ? rules[id as RuleId] : undefined
}
