import { isRecord, type JsonRecord, own, ownText, scalarText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { readAssignments } from '../manifest/environment-reference.ts'
import { piece } from './client-placeholder.ts'
import type { NamedPiece } from './manifest-draft.ts'
import { readCommandLine, readShellCommand } from './shell-text.ts'

export type LocatedText = { text: string; path: Path }

/** How a client starts a server, whatever it calls the fields. */
export type ClientCommand = {
  command: LocatedText | undefined
  /** Undefined where they are no list of texts. */
  args: LocatedText[] | undefined
  env: NamedPiece[] | undefined
  /** Whether a shell or one text stood around the program, and the draft has taken it apart. */
  isUnwrapped: boolean
}

/** `command` is a text, a list that holds the arguments too (opencode), or an object with all three (Zed). */
export function readClientCommand(entry: JsonRecord, path: Path): ClientCommand {
  const at = [...path, 'command']
  const stated = own(entry, 'command')
  const inner = isRecord(stated) ? stated : undefined
  const place = inner ? at : path
  const list = Array.isArray(stated) ? readTexts(stated, at) : []
  const text = inner ? ownText(inner, 'path') : ownText(entry, 'command')
  const command = list?.[0] ?? (text === undefined ? undefined : { text, path: inner ? [...at, 'path'] : at })
  const more = readTexts(own(inner ?? entry, 'args'), [...place, 'args'])
  return unwrap({
    command,
    args: list && more && [...list.slice(1), ...more],
    env: readEnvironment(inner ?? entry, place),
    isUnwrapped: false,
  })
}

function unwrap(found: ClientCommand): ClientCommand {
  const { command, args, env } = found
  if (!command || !args || !env) return found
  const shell = readShellCommand(command.text, args)
  const line = shell ?? readCommandLine(command.text)
  const [program, ...words] = line?.words ?? []
  if (!line || program === undefined) return found
  const path = shell ? (args.at(-1)?.path ?? command.path) : command.path
  const own = line.env.map(({ name, text }) => ({ name, ...piece(text, path) }))
  return {
    command: { text: program, path },
    args: [...words.map((text) => ({ text, path })), ...(shell ? [] : args)],
    // What the text itself sets counts after what the client gives to its shell.
    env: [...env.filter(({ name }) => !own.some((each) => each.name === name)), ...own],
    isUnwrapped: true,
  }
}

/** `env`, which opencode calls `environment`, and the names that Codex hands on from its own. */
function readEnvironment(entry: JsonRecord, path: Path): NamedPiece[] | undefined {
  const key = own(entry, 'env') === undefined && own(entry, 'environment') !== undefined ? 'environment' : 'env'
  const env = readPairs(own(entry, key), [...path, key])
  const handed = own(entry, 'env_vars')
  if (handed === undefined || !env) return env
  const names = Array.isArray(handed) ? handed.map((each) => (isRecord(each) ? own(each, 'name') : each)) : [undefined]
  if (!names.every((name) => typeof name === 'string' && environmentName.test(name))) return undefined
  const given = names.map((name, index) => ({ name, ...piece(`$env:${name}`, [...path, 'env_vars', index]) }))
  return [...env, ...given.filter(({ name }) => !env.some((each) => each.name === name))]
}

const environmentName = /^[A-Za-z_]\w*$/

function readTexts(value: unknown, path: Path): LocatedText[] | undefined {
  return readList(value)?.map((text, index) => ({ text, path: [...path, index] }))
}

export function readPairs(value: unknown, path: Path): NamedPiece[] | undefined {
  if (value === undefined || value === null) return []
  const entries = Array.isArray(value) ? readList(value) : readRecord(value)
  const pairs = entries && readAssignments(entries)
  if (!pairs?.every(({ name }) => /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))) return undefined
  return pairs.map(({ name, value: text, step }) => ({ name, ...piece(text, [...path, step]) }))
}

function readList(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return []
  const texts = Array.isArray(value) ? value.map(scalarText) : [undefined]
  return texts.every((text) => text !== undefined) ? texts : undefined
}

function readRecord(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined
  // Null takes a variable away, and a child here gets none that is not named.
  const names = Object.keys(value).filter((name) => value[name] !== null)
  const texts = readList(names.map((name) => value[name]))
  return texts && Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']))
}
