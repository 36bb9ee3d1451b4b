import { MatrixError, printableLine } from '@matrix/protocol'
import { plural } from '@matrix/protocol/display'
import type { ConfigEntry, ConfigView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, type PlaceOptions } from '../place.ts'
import { askSecret } from '../prompt.ts'
import { openSettings } from '../settings.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type Options = PlaceOptions & { json?: boolean }

/** Which model agents speak with, with whose key, and who may sign in. */
export async function authStatus(options: Options): Promise<ExitCode> {
  const { view } = await openSettings(options)
  const credentials = view.entries.filter(({ key }) => key.startsWith('authGroups.'))
  const { provider, devices } = (await askDaemon()) ?? { provider: readProvider(view), devices: null }
  if (options.json) printJson({ provider, credentials, devices })
  else
    print(
      [
        ...tellProvider(provider),
        ...credentials.map(tellCredential),
        devices === null
          ? 'The daemon is not running; only it knows which devices may sign in.'
          : `${plural(devices, 'device')} may sign in to the web UI (matrix device list).`,
      ].join('\n'),
    )
  return provider.kind === 'missing' ? exitCode.findings : exitCode.ok
}

async function askDaemon(): Promise<{ provider: Provider; devices: number } | undefined> {
  try {
    const client = await connect()
    const [{ provider }, devices] = await Promise.all([client.getStatus(), client.listDevices()])
    return { provider, devices: devices.length }
  } catch (error) {
    if (error instanceof MatrixError && error.code === 'DAEMON_UNREACHABLE') return undefined
    throw error
  }
}

export function readProvider({ entries }: ConfigView): Provider {
  if (!entries.some(({ key }) => key.startsWith('authGroups.'))) return { kind: 'missing', model: null }
  const model = entries.find(({ key }) => key === 'model')?.value
  return { kind: 'configured', model: typeof model === 'string' ? model : null }
}

type Provider = { kind: 'mock' | 'configured' | 'missing'; model: string | null }

function tellProvider({ kind, model }: Provider): string[] {
  const { green, yellow, red } = colorsFor(process.stdout)
  if (kind === 'configured')
    return [`${green('✔')} Agents speak with ${printableLine(model ?? 'the configured model')}.`]
  const next = '  Give a key with: matrix auth set anthropic'
  if (kind === 'mock') return [`${yellow('●')} No key is set: the demo is played by a script.`, next]
  return [`${red('✘')} No key is set: agents cannot start.`, next]
}

function tellCredential({ key, value, isSecret, origin, file }: ConfigEntry): string {
  const { dim } = colorsFor(process.stdout)
  const shown = isSecret ? '(set, not shown)' : printableLine(String(value))
  return `  ${printableLine(key)}  ${shown}  ${dim(file === null ? origin : `${origin} ${printableLine(file)}`)}`
}

const keys = { anthropic: 'anthropicApiKey', openai: 'openaiApiKey' } as const
const urls = { anthropic: 'anthropicBaseUrl', openai: 'openaiBaseUrl' } as const

type KeyOptions = Options & { group?: string; url?: string; key?: boolean; model?: string }

/** Keeps a key, or the address of a server that wants none, for all projects, in a file that only its owner can read. */
export async function setKey(provider: string, options: KeyOptions): Promise<ExitCode> {
  if (provider !== 'anthropic' && provider !== 'openai')
    throw new MatrixError('REQUEST_INVALID', `${printableLine(provider)} is not a provider.`, {
      hint: 'Give anthropic, or openai for everything that speaks its API (with --url).',
    })
  const { group = provider, url, model } = options
  const isKeyless = options.key === false
  if (isKeyless && url === undefined)
    throw new MatrixError(
      'REQUEST_INVALID',
      'Only a server of your own works without a key, and no address is given.',
      {
        hint: `Say where it is: matrix auth set ${provider} --no-key --url http://127.0.0.1:11434/v1`,
      },
    )
  const settings = await openSettings(options)
  const key = isKeyless ? undefined : await askSecret(`API key for ${provider}: `)
  if (key === '')
    throw new MatrixError('CONFIG_INVALID', 'There is no key.', {
      hint: 'Type or pipe it in. For a server that wants none, add --no-key and --url.',
    })
  if (url !== undefined) await settings.set('global', `authGroups.${group}.${urls[provider]}`, url)
  if (key !== undefined) await settings.set('global', `authGroups.${group}.${keys[provider]}`, key)
  if (model !== undefined) await settings.set('global', 'model', model)
  const models = isKeyless && url !== undefined ? await findModels(provider, url) : undefined
  if (options.json) printJson({ group, provider, ...(models && { models }) })
  else
    print(
      [
        `Kept ${isKeyless ? 'the address' : 'the key'} as ${printableLine(group)}. matrix auth status shows what agents use.`,
        ...tellModels(models, options),
      ].join('\n'),
    )
  return exitCode.ok
}

/** What a server of the user's own offers; nothing where it cannot be asked now. */
async function findModels(provider: keyof typeof urls, url: string): Promise<string[] | undefined> {
  try {
    const list = provider === 'openai' ? 'models' : 'v1/models'
    const response = await fetch(`${url.replace(/\/+$/, '')}/${list}`, { signal: AbortSignal.timeout(3000) })
    const { data } = (await response.json()) as { data: { id: string }[] }
    return data.map(({ id }) => id)
  } catch {
    return undefined
  }
}

function tellModels(models: string[] | undefined, { key, model, url }: KeyOptions): string[] {
  if (key !== false) return []
  if (models === undefined) return [`${printableLine(url ?? '')} does not answer now, so its models are not known.`]
  if (model !== undefined && models.includes(model)) return []
  const names = models.slice(0, 20).map(printableLine).join(', ') || 'none'
  return [`Models there: ${names}.`, 'Choose one with: matrix config set model <name>']
}

export async function removeKey(group: string, options: Options): Promise<ExitCode> {
  const settings = await openSettings(options)
  const groups = settings.view.entries.flatMap(({ key, origin }) =>
    origin === 'global' && key.startsWith('authGroups.') ? (key.split('.')[1] ?? []) : [],
  )
  if (!groups.includes(group))
    throw new MatrixError('REQUEST_INVALID', `There is no key kept as ${printableLine(group)}.`, {
      hint:
        groups.length > 0 ? `There is ${[...new Set(groups)].join(', ')}.` : 'matrix auth status shows what there is.',
    })
  await settings.unset('global', `authGroups.${group}`)
  if (options.json) printJson({ group })
  else print(`Took ${printableLine(group)} out.`)
  return exitCode.ok
}
