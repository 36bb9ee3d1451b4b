import { MatrixError, printableLine } from '@matrix/protocol'
import { readProvider } from './commands/auth.ts'
import { askSecret, askText, isInteractive } from './prompt.ts'
import { openSettings, type Settings } from './settings.ts'

export type ProviderFlags = { keyEnv?: string; url?: string; model?: string; yes?: boolean }

/** Whether agents have a model to think with, and what was kept for it just now. */
export type FoundProvider = { isConfigured: boolean; kept: string | null }

type Given = { provider: 'anthropic' | 'openai'; key?: string; url?: string; model?: string }

/** Finds the provider in the settings or the environment; else takes it from the flags, or asks. */
export async function ensureProvider(flags: ProviderFlags): Promise<FoundProvider> {
  const settings = await openSettings({})
  const given = fromFlags(flags)
  if (given) return keep(settings, given)
  if (readProvider(settings.view).kind === 'configured') return { isConfigured: true, kept: null }
  if (flags.yes || !isInteractive()) return { isConfigured: false, kept: null }
  const asked = await askForProvider()
  return asked ? keep(settings, asked) : { isConfigured: false, kept: null }
}

function fromFlags({ keyEnv, url, model }: ProviderFlags): Given | undefined {
  const rest = { ...(url !== undefined && { url }), ...(model !== undefined && { model }) }
  if (keyEnv === undefined) return url === undefined ? undefined : { provider: 'openai', ...rest }
  const key = process.env[keyEnv]?.trim()
  if (!key)
    throw new MatrixError('CREDENTIAL_MISSING', `The environment variable ${printableLine(keyEnv)} is not set.`, {
      hint: 'Set it, or name another one with --key-env.',
    })
  return { provider: providerOf(key), key, ...rest }
}

async function askForProvider(): Promise<Given | undefined> {
  const answer = await askSecret(
    'No model is configured. Paste a key of Anthropic (sk-ant-…) or OpenAI (sk-…),\nor the address of a model server (http://…). Not shown; Enter skips: ',
  )
  if (answer === '') return undefined
  if (!/^https?:\/\//.test(answer)) return { provider: providerOf(answer), key: answer }
  const model = await askText('Which model does it serve? ')
  return { provider: 'openai', url: answer, ...(model !== '' && { model }) }
}

function providerOf(key: string): 'anthropic' | 'openai' {
  return key.startsWith('sk-ant-') ? 'anthropic' : 'openai'
}

async function keep(settings: Settings, { provider, key, url, model }: Given): Promise<FoundProvider> {
  const group = key === undefined ? 'local' : provider
  if (key !== undefined) await settings.set('global', `authGroups.${group}.${provider}ApiKey`, key)
  if (url !== undefined) await settings.set('global', `authGroups.${group}.${provider}BaseUrl`, url)
  if (model !== undefined) await settings.set('global', 'model', model)
  return { isConfigured: true, kept: group }
}
