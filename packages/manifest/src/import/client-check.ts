import { MAX_DEPTH } from '../document/document-text.ts'
import type { Problem } from '../document/finding.ts'
import { isRecord } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { findCredentialArguments, isLiteralCredential } from '../manifest/credential.ts'
import { findInjectedCode } from '../manifest/injected-code.ts'
import { isPackagePinned, type LaunchedPackage, parseLauncher } from '../manifest/launcher.ts'
import { injectionProblem } from '../manifest/manifest-check.ts'
import { type ImportOptions, readServers } from './import.ts'
import type { FoundServer, Piece } from './manifest-draft.ts'

/** Secrets, pins and transports in a file of another program, which stays that program's file. */
export function checkServers(value: unknown, options: ImportOptions = {}): Problem[] {
  const { servers, problems } = readServers(value, options)
  const refused = problems.filter(({ rule }) => rule !== 'MX029')
  const found = servers.flatMap((server) => [...pinProblems(server), ...injectedCode(server)])
  return [...refused, ...found, ...findSecrets(value, sectionsOf(servers, problems))]
}

/** The text of a value with something in place of each gap that is no part of any name. */
function textOf({ template }: Piece): string {
  return template.map((part) => (typeof part === 'string' ? part : '${_}')).join('')
}

function pinProblems({ name, path, launch }: FoundServer): Problem[] {
  if (launch.transport !== 'stdio') return []
  const launcher = parseLauncher(textOf(launch.command), launch.args.map(textOf))
  if (launcher.kind === 'unclear') {
    const message = `Cannot tell which package "${name}" starts: ${launcher.why}.`
    const fix = 'Start the package itself, with its exact version (`npx -y name@1.2.3`), or a file of this machine.'
    return [{ rule: 'MX007', severity: 'warning', path: launch.command.path, message, fix }]
  }
  if (launcher.kind !== 'package') return []
  const floating = [launcher, ...launcher.others].filter((each) => !isPackagePinned(each))
  return floating.map((each) => unpinned(name, each, launch.args[each.argument]?.path ?? path))
}

/** The program that owns the file starts it all the same, so it is no error of the file. */
function unpinned(name: string, { name: fetched, version }: LaunchedPackage, path: Path): Problem {
  const what = version ? `whatever "${version}" names on that day` : 'whatever is newest on that day'
  const message = `"${name}" fetches ${fetched} without an exact version: ${what}.`
  return { rule: 'MX007', severity: 'warning', path, message }
}

function injectedCode({ name, path, launch }: FoundServer): Problem[] {
  if (launch.transport !== 'stdio') return []
  const env = launch.env.map((each) => ({ name: each.name, value: textOf(each) }))
  const found = findInjectedCode({ command: textOf(launch.command), args: launch.args.map(textOf), env })
  return found.map((each) => {
    const { field, step } = each
    const piece = field === 'env' ? launch.env.find((one) => one.name === step) : launch.args[Number(step)]
    const place = field === 'command' ? launch.command : piece
    return injectionProblem(name, { ...each, severity: 'warning' }, place?.path ?? path)
  })
}

/** The parts of the file that hold servers: settings of a program have much else, which is none of ours. */
function sectionsOf(servers: readonly FoundServer[], problems: readonly Problem[]): Path[] {
  const paths = [...servers.map(({ path }) => path), ...problems.map(({ path }) => path)]
  const sections = paths.filter((path) => path.length > 0).map((path) => path.slice(0, 1))
  return [...new Map(sections.map((path) => [String(path[0]), path])).values()]
}

function findSecrets(value: unknown, sections: readonly Path[]): Problem[] {
  return sections.flatMap((path) => secretsIn(partAt(value, path), path))
}

function partAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, step) => (isRecord(part) ? part[String(step)] : undefined), value)
}

function secretsIn(value: unknown, path: Path): Problem[] {
  if (path.length > MAX_DEPTH) return []
  if (typeof value === 'string') return isSecret(path.at(-1), value) ? [literalCredential(path)] : []
  if (Array.isArray(value)) {
    const texts = value.map((each) => (typeof each === 'string' ? withoutGaps(each) : ''))
    const flagged = new Set(findCredentialArguments(texts))
    return value.flatMap((each, index) =>
      flagged.has(index) ? [literalCredential([...path, index])] : secretsIn(each, [...path, index]),
    )
  }
  return isRecord(value) ? Object.entries(value).flatMap(([key, part]) => secretsIn(part, [...path, key])) : []
}

/** What names a variable is none itself, however much its name speaks of a token. */
const namesVariable = /(?:^|_)env_var$|_vars$/

function isSecret(step: string | number | undefined, value: string): boolean {
  const name = typeof step === 'string' && !namesVariable.test(step) ? step : ''
  const text = withoutGaps(value)
  // Most values are none at all, which is told the soonest.
  return isLiteralCredential(name, text) && (isLiteralCredential('', text) || !isFillIn(value))
}

/** `your_token_here`, `put-key-here`, `ntn_****`, `...`: words for the reader, as examples have them, in place of a secret. */
function isFillIn(value: string): boolean {
  const [text = ''] = /\S+$/.exec(value.trim()) ?? []
  if (/^(?:\W*\.{3,}|.*(?:\*{3,}|…|x{4,}).*)$/i.test(text)) return true
  const words = text
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(Boolean)
  const isAsking = ['your', 'put', 'insert', 'enter', 'replace', 'paste', 'change', 'add'].includes(words[0] ?? '')
  return !/\d/.test(text) && words.length > 1 && (isAsking || words.at(-1) === 'here')
}

function withoutGaps(text: string): string {
  if (!text.includes('{')) return text
  return text.replace(/(?<!\$)\{(?:env|file):[^{}]*\}/g, '${_}')
}

function literalCredential(path: Path): Problem {
  return {
    rule: 'MX008',
    path,
    message: 'The file holds a literal credential here.',
    fix: 'Put the value into an environment variable and refer to it as the program that reads this file does; then revoke the value that was in the file.',
  }
}
