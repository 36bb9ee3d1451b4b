export type ModelProvider = 'anthropic' | 'openai'

/**
 * The model of an agent whose settings name none: the newest of its family that the price table and the SDK both know.
 * A test derives these from the installed packages, so that an update of either fails until they are as new.
 */
export const defaultModels: Record<ModelProvider, string> = { anthropic: 'claude-sonnet-5', openai: 'gpt-5.6-sol' }

/** The family that suits coding at an ordinary price, with its version: Sonnet, and the flagship GPT without a size or date. */
const families: Record<ModelProvider, RegExp> = {
  anthropic: /^claude-sonnet-(\d{1,2})(?:-(\d{1,2}))?$/,
  openai: /^gpt-(\d{1,2})(?:\.(\d{1,2}))?(?:-sol)?$/,
}

/** The newest model of the provider's family among these. */
export function newestModel(provider: ModelProvider, models: Iterable<string>): string | undefined {
  const versions = [...models].flatMap((model) => {
    const [, major, minor = '0'] = families[provider].exec(model) ?? []
    return major === undefined ? [] : [{ model, major: Number(major), minor: Number(minor) }]
  })
  return versions.toSorted((a, b) => b.major - a.major || b.minor - a.minor)[0]?.model
}

/** The models of a provider that the price table names. */
export async function pricedModels(provider: string): Promise<string[]> {
  const { findProvider } = await import('@pydantic/genai-prices')
  return findProvider({ providerId: provider })?.models.map(({ id }) => id) ?? []
}

/** Those that begin most like the name that was asked for come first. */
export function nearestModels(asked: string, models: readonly string[], count: number): string[] {
  const alike = (model: string) => [...model].findIndex((letter, index) => letter !== asked[index]) + 1 || model.length
  return models.toSorted((a, b) => alike(b) - alike(a) || (a < b ? 1 : -1)).slice(0, count)
}
