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

function readProvider({ entries }: ConfigView): Provider {
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

/** Keeps a key for all projects, in a file that only its owner can read. */
export async function setKey(provider: string, options: Options & { group?: string; url?: string }): Promise<ExitCode> {
  if (provider !== 'anthropic' && provider !== 'openai')
    throw new MatrixError('REQUEST_INVALID', `${printableLine(provider)} is not a provider.`, {
      hint: 'Give anthropic, or openai for everything that speaks its API (with --url).',
    })
  const group = options.group ?? provider
  const settings = await openSettings(options)
  const key = await askSecret(`API key for ${provider}: `)
  if (key === '') throw new MatrixError('CONFIG_INVALID', 'There is no key.', { hint: 'Type or pipe it in.' })
  await settings.set('global', `authGroups.${group}.${keys[provider]}`, key)
  if (options.url !== undefined) await settings.set('global', `authGroups.${group}.${urls[provider]}`, options.url)
  if (options.json) printJson({ group, provider })
  else print(`Kept the key as ${group}. matrix auth status shows what agents use.`)
  return exitCode.ok
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
