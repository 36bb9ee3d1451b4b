import type { Problem } from '../document/finding.ts'
import type { JsonRecord } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { isSecretName } from '../manifest/credential.ts'
import { type FoundLaunch, leftOut, type NamedPiece, type Piece } from './manifest-draft.ts'
import { field, inputTemplate, listField, textField } from './registry-input.ts'
import type { Gap } from './template.ts'

type Package = {
  identifier: string
  version: string | undefined
  hint: string
  /** A registry other than the usual one. */
  registry: string | undefined
  environment: string[]
}
type Command = { command: string; before: string[]; after: string[] }

/** How each kind of package is started: what stands before the runtime's own arguments, and what after them. */
const commands: Record<string, (each: Package) => Command> = {
  npm: ({ hint, registry, ...each }) => ({
    command: hint === 'bunx' ? 'bunx' : 'npx',
    before: [...(hint === 'bunx' ? [] : ['-y']), ...(registry ? ['--registry', registry] : [])],
    after: [spec(each)],
  }),
  pypi: ({ hint, registry, ...each }) => ({
    command: hint === 'pipx' ? 'pipx' : 'uvx',
    before: [...(hint === 'pipx' ? ['run'] : []), ...(registry ? ['--index-url', registry] : [])],
    after: [spec(each)],
  }),
  // The environment of `docker` does not reach the container unless each name is handed on.
  oci: ({ hint, environment, ...each }) => ({
    command: hint === 'podman' ? 'podman' : 'docker',
    before: ['run', '-i', '--rm', ...environment.flatMap((name) => ['-e', name])],
    after: [imageReference(each)],
  }),
  nuget: ({ registry, ...each }) => ({
    command: 'dnx',
    before: [...(registry ? ['--source', registry] : [])],
    after: [spec(each), '--yes', '--'],
  }),
  // A bundle says in its own manifest how it is started; until then, its file is all there is to pin.
  mcpb: ({ identifier }) => ({
    command: `./${identifier.replace(/[?#].*$/s, '').replace(/^.*\//s, '') || 'server.mcpb'}`,
    before: [],
    after: [],
  }),
}
/** What is written here anyway, and some registries' entries repeat. */
const spelledOut: readonly string[] = ['run', '-y', '--yes', '-i', '--rm']
const usualRegistries = /^https:\/\/(?:registry\.npmjs\.org|pypi\.org|api\.nuget\.org)(?:\/|$)/

export function launchPackage(
  kind: string,
  item: JsonRecord,
  path: Path,
  problems: Problem[],
): FoundLaunch | undefined {
  const name = kind.toLowerCase() === 'docker' ? 'oci' : kind.toLowerCase()
  const identifier = textField(item, 'identifier') ?? textField(item, 'name')
  const commandOf = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!identifier || !commandOf) return undefined

  const env = readNamedInputs(item, 'environmentVariables', 'shared', path, problems)
  const runtime = withoutPackage(readArguments(item, 'runtimeArguments', path, problems), identifier)
  const { command, before, after } = commandOf(readPackage(item, identifier, withoutHanded(env, runtime)))
  if (name === 'mcpb') problems.push(bundle(path))
  const fixed = (text: string): Piece => ({ template: [text], path })
  return {
    transport: 'stdio',
    command: fixed(command),
    args: [
      ...before.map(fixed),
      ...runtime.filter(({ template: [text] }) => typeof text !== 'string' || !spelledOut.includes(text)),
      ...after.map(fixed),
      ...readArguments(item, 'packageArguments', path, problems),
    ],
    env,
  }
}

/** Some entries spell out the whole command line, the package in it too. */
function withoutPackage(runtime: Piece[], identifier: string): Piece[] {
  const bare = identifier.replace(/(?:@sha256)?:[^/]*$/, '')
  return runtime.filter(({ template: [text] }) => {
    if (typeof text !== 'string') return true
    return text !== bare && !(text.startsWith(bare) && /^[@:]/.test(text.slice(bare.length)))
  })
}

/** A variable that the entry itself hands on to the container is not handed on twice. */
function withoutHanded(env: NamedPiece[], runtime: Piece[]): NamedPiece[] {
  const texts = runtime.map(({ template: [text] }) => (typeof text === 'string' ? text : ''))
  const handed = texts.filter((_, index) => /^(?:-e|--env)$/.test(texts[index - 1] ?? ''))
  return env.filter(({ name }) => !handed.some((text) => text === name || text.startsWith(`${name}=`)))
}

function readPackage(item: JsonRecord, identifier: string, env: NamedPiece[]): Package {
  const registry = textField(item, 'registryBaseUrl')
  return {
    identifier,
    version: textField(item, 'version'),
    hint: textField(item, 'runtimeHint') ?? '',
    registry: registry && !usualRegistries.test(registry) ? registry : undefined,
    environment: env.map(({ name }) => name),
  }
}

function spec({ identifier, version }: Pick<Package, 'identifier' | 'version'>): string {
  return version ? `${identifier}@${version}` : identifier
}

function imageReference({
  identifier,
  version,
  registry,
}: Pick<Package, 'identifier' | 'version' | 'registry'>): string {
  const host = registry?.replace(/^https?:\/\/|\/.*$/g, '') ?? ''
  const isElsewhere = host !== '' && host !== 'docker.io' && !identifier.startsWith(`${host}/`)
  const image = isElsewhere ? `${host}/${identifier}` : identifier
  if (!version || /@|:[^/]*$/.test(image)) return image
  return image + (version.startsWith('sha256:') ? '@' : ':') + version
}

/** Environment variables or headers: required and secret ones become references, optional ones without a value are left out. */
export function readNamedInputs(
  item: JsonRecord,
  list: string,
  naming: Gap['naming'],
  path: Path,
  problems: Problem[],
): NamedPiece[] {
  return listField(item, list, path).flatMap(({ item: input, path: at }) => {
    const name = textField(input, 'name') ?? ''
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)) {
      problems.push({ rule: 'MX001', path: at, message: `An entry of "${list}" has no usable name.` })
      return []
    }
    const template = inputTemplate(input, name, naming, at)
    if (template) return [{ name, template, path: at }]
    problems.push(leftOut(`"${name}" is optional and has no value here; it was left out.`, at, optionalFix(name)))
    return []
  })
}

/** An optional secret stays optional; the note has the line that sets it. */
function optionalFix(name: string): string {
  return isSecretName(name)
    ? `Add "${name}=$env:${name}" to the draft if you want it.`
    : 'Add it to the draft if you need it.'
}

function readArguments(item: JsonRecord, list: string, path: Path, problems: Problem[]): Piece[] {
  return listField(item, list, path).flatMap(({ item: input, path: at }) => {
    const name = textField(input, 'name') ?? ''
    // Early entries call a flag named and give it as the value.
    const isNamed = name !== '' && (field(input, 'type').value === 'named' || name.startsWith('-'))
    const flag: Piece[] = isNamed ? [{ template: [name], path: at }] : []
    // A flag that asks for nothing is one that stands alone.
    if (isNamed && !takesValue(input)) return flag
    const label = isNamed ? name : (textField(input, 'valueHint') ?? 'argument')
    const template = inputTemplate(input, label, 'own', at)
    if (template) return [...flag, { template, path: at }]
    problems.push(leftOut(`The argument "${label}" is optional and has no value here; it was left out.`, at))
    return []
  })
}

function takesValue(input: JsonRecord): boolean {
  const asks = [
    'value',
    'default',
    'valueHint',
    'format',
    'isRequired',
    'isSecret',
    'choices',
    'placeholder',
    'variables',
  ]
  return asks.some((name) => field(input, name).value !== undefined)
}

function bundle(path: Path): Problem {
  const message = 'The package is a bundle, and only its own manifest.json says how it is started.'
  return { rule: 'MX029', path, message, fix: 'Download and unpack it, then import its manifest.json.' }
}
