import { MatrixError } from '@matrix/protocol'
import { simulatedModel } from '@matrix/protocol/display'
import {
  createAnthropicAdapter,
  createOpenaiChatAdapter,
  createOpenaiResponsesAdapter,
  type Dial,
  defaultModels,
  type PricingOverrides,
  type ProviderAdapter,
  type Route,
} from '@matrix/provider-loop'
import type { Settings } from './config/config.ts'
import { type AuthGroup, providerOf } from './config/settings.ts'

/** Takes note of what must never be seen. */
export type SecretSink = { add(name: string, value: string): void }

/** The connections to providers: one for each set of credentials, kept for as long as there are agents. */
export type Adapters = {
  get(group: AuthGroup, options?: ConnectOptions): ProviderAdapter
  close(): void
}

/** How long a provider may send nothing, and prices that are known better than in the table. */
export type ConnectOptions = { timeoutMs?: number | undefined; pricing?: PricingOverrides | undefined }

/** Where agents find their models: the first choice, then where to go on when it fails. */
export type ModelRoutes = { root: Route[]; child: Route[] }

export type ModelSettings = Pick<
  Settings,
  'authGroups' | 'defaultAuth' | 'model' | 'childAuth' | 'childModel' | 'fallbackModels'
> &
  Partial<Pick<Settings, 'modelTimeoutMs' | 'prices'>>

/** `dial` is the user's own way out, where there is one. */
export function openAdapters({ dial }: { dial?: Dial | undefined } = {}): Adapters {
  const adapters = new Map<string, ProviderAdapter>()
  return {
    get(group, options = {}) {
      const key = JSON.stringify([Object.entries(group).sort(), options])
      const adapter = adapters.get(key) ?? connect(group, options, dial)
      adapters.set(key, adapter)
      return adapter
    },
    close() {
      for (const adapter of adapters.values()) adapter.close()
      adapters.clear()
    },
  }
}

/** Turns the settings into routes. Every credential among them is handed to `secrets` first. */
export function createModelRoutes(
  settings: ModelSettings,
  { adapters, secrets }: { adapters: Adapters; secrets: SecretSink },
): ModelRoutes {
  hideSecrets(settings.authGroups, secrets)
  const auth = settings.defaultAuth ?? defaultGroup(settings.authGroups)
  const childAuth = settings.childAuth ?? auth
  const root = getGroup(settings, auth, 'defaultAuth')
  const child = getGroup(settings, childAuth, 'childAuth')

  const model = settings.model ?? defaultModel(auth, root, 'model')
  const childModel =
    settings.childModel ?? (isSameOffer(root, child) ? model : defaultModel(childAuth, child, 'childModel'))
  const options = { timeoutMs: settings.modelTimeoutMs, pricing: pricingOf(settings.prices) }
  const route = (group: AuthGroup, name: string): Route => ({
    adapter: adapters.get(group, options),
    model: name,
  })
  const fallbacks = settings.fallbackModels.map((each) =>
    route(getGroup(settings, each.auth, 'fallbackModels'), each.model),
  )
  return {
    root: distinct([route(root, model), ...fallbacks]),
    child: distinct([route(child, childModel), ...fallbacks]),
  }
}

/** The same settings with a script in place of every model, under names that keep its prices from being taken for money. */
export function withScript<T extends ModelSettings>(settings: T, baseUrl: string): T {
  const script: AuthGroup = {
    provider: 'anthropic',
    anthropicApiKey: 'none-needed-by-the-mock',
    anthropicBaseUrl: baseUrl,
  }
  const { model = defaultModels.anthropic, childModel = model } = settings
  return {
    ...settings,
    authGroups: { mock: script },
    model: simulatedModel(model),
    childModel: simulatedModel(childModel),
  }
}

const openaiHost = 'api.openai.com'

/** OpenAI itself speaks Responses; everything that only resembles it speaks Chat. */
function connect(group: AuthGroup, { timeoutMs, pricing }: ConnectOptions, dial: Dial | undefined): ProviderAdapter {
  const given = { ...(timeoutMs !== undefined && { timeoutMs }), ...(pricing && { pricing }), ...(dial && { dial }) }
  if (providerOf(group) === 'openai') {
    const { openaiApiKey, openaiBaseUrl } = group
    const options = {
      ...(openaiApiKey && { apiKey: openaiApiKey }),
      ...(openaiBaseUrl && { baseUrl: openaiBaseUrl }),
      ...given,
    }
    return isOwnAddress(group) ? createOpenaiChatAdapter(options) : createOpenaiResponsesAdapter(options)
  }
  const { anthropicApiKey, claudeOauthToken, anthropicBaseUrl } = group
  // With both, the key: two ways of signing in on one request are refused.
  const authToken = anthropicApiKey ? undefined : claudeOauthToken
  return createAnthropicAdapter({
    ...(anthropicApiKey && { apiKey: anthropicApiKey }),
    ...(authToken && { authToken }),
    ...(anthropicBaseUrl && { baseUrl: anthropicBaseUrl }),
    ...given,
  })
}

/** A server of the user's own, which nobody here knows the models of. */
function isOwnAddress({ openaiBaseUrl }: AuthGroup): boolean {
  return openaiBaseUrl !== undefined && new URL(openaiBaseUrl).host !== openaiHost
}

function pricingOf(prices: Settings['prices'] = {}): PricingOverrides {
  return Object.fromEntries(
    Object.entries(prices).map(([model, { input, output, cacheRead = input, cacheWrite = input }]) => [
      model,
      { input, output, cacheRead, cacheWrite },
    ]),
  )
}

function hideSecrets(groups: Settings['authGroups'], secrets: SecretSink): void {
  for (const [name, group] of Object.entries(groups))
    for (const field of ['anthropicApiKey', 'claudeOauthToken', 'openaiApiKey'] as const) {
      const value = group[field]
      if (value !== undefined) secrets.add(`authGroups.${name}.${field}`, value)
    }
}

function defaultGroup(groups: Settings['authGroups']): string {
  const [first] = Object.keys(groups)
  if (first === undefined)
    throw new MatrixError('PROVIDER_MISSING', 'No model provider is configured.', {
      hint: 'Set ANTHROPIC_API_KEY or OPENAI_API_KEY where Matrix is started, or run matrix config set authGroups.default.anthropicApiKey.',
    })
  return Object.hasOwn(groups, 'default') ? 'default' : first
}

function getGroup({ authGroups }: ModelSettings, name: string, setting: string): AuthGroup {
  const group = Object.hasOwn(authGroups, name) ? authGroups[name] : undefined
  if (!group)
    throw new MatrixError('PROVIDER_MISSING', `"${setting}" names the auth group "${name}", which does not exist.`, {
      hint: `Name one that does (${Object.keys(authGroups).join(', ') || 'there is none yet'}), or set its key: matrix config set authGroups.${name}.anthropicApiKey.`,
    })
  if (hasCredential(group)) return group
  const field = providerOf(group) === 'openai' ? 'openaiApiKey' : 'anthropicApiKey'
  throw new MatrixError('PROVIDER_MISSING', `The auth group "${name}" has no key.`, {
    hint: `Set it: matrix config set authGroups.${name}.${field}.`,
  })
}

/** A server at an address of its own may ask for none. */
function hasCredential(group: AuthGroup): boolean {
  const { anthropicApiKey, claudeOauthToken, anthropicBaseUrl, openaiApiKey, openaiBaseUrl } = group
  return [anthropicApiKey, claudeOauthToken, anthropicBaseUrl, openaiApiKey, openaiBaseUrl].some(Boolean)
}

/** The name of the model that root agents ask, as far as the settings tell it. */
export function findRootModel({ model, defaultAuth, authGroups }: ModelSettings): string | undefined {
  if (model !== undefined) return model
  const name = defaultAuth ?? (Object.hasOwn(authGroups, 'default') ? 'default' : Object.keys(authGroups)[0])
  const group = name !== undefined && Object.hasOwn(authGroups, name) ? authGroups[name] : undefined
  return group && !isOwnAddress(group) ? defaultModels[providerOf(group) ?? 'anthropic'] : undefined
}

function defaultModel(name: string, group: AuthGroup, setting: 'model' | 'childModel'): string {
  if (!isOwnAddress(group)) return defaultModels[providerOf(group) ?? 'anthropic']
  throw new MatrixError(
    'CONFIG_INVALID',
    `The auth group "${name}" leads to a server of its own, and no model is named.`,
    {
      hint: `Say which model of that server to use: matrix config set ${setting} <name>.`,
    },
  )
}

/** Whether two groups offer the same models, so that a model of one can be asked of the other. */
function isSameOffer(a: AuthGroup, b: AuthGroup): boolean {
  return providerOf(a) === providerOf(b) && a.openaiBaseUrl === b.openaiBaseUrl
}

function distinct(routes: Route[]): Route[] {
  return routes.filter(
    ({ adapter, model }, index) =>
      routes.findIndex((each) => each.adapter === adapter && each.model === model) === index,
  )
}
