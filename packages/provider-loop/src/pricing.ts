import type { TokenUsage } from '@matrix/protocol'

/** Dollars per million tokens. Above a tier's `start` of prompt tokens, the whole turn costs what the tier says. */
export type Price = number | { base: number; tiers: { start: number; price: number }[] }

export type ModelPricing = {
  input: Price
  output: Price
  cacheRead: Price
  cacheWrite: Price
  contextWindow?: number
}

/** Prices that are known better here than in the table, by model. */
export type PricingOverrides = Record<string, ModelPricing>

/** Looks a model up in the overrides and then in the public table. What a model in neither costs is unknown. */
export async function findPricing(
  model: string,
  providerId: string,
  overrides: PricingOverrides = {},
): Promise<ModelPricing | undefined> {
  const known = overrides[model]
  if (known) return known

  // Loaded when first asked for: the table is most of a megabyte.
  const { calcPrice } = await import('@pydantic/genai-prices')
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model, { providerId })
  if (!found) return undefined
  const { input_mtok, output_mtok, cache_read_mtok, cache_write_mtok } = found.model_price
  const input = input_mtok ?? 0
  const contextWindow = found.model.context_window
  return {
    input,
    output: output_mtok ?? 0,
    cacheRead: cache_read_mtok ?? input,
    cacheWrite: cache_write_mtok ?? input,
    ...(contextWindow !== undefined && { contextWindow }),
  }
}

/** What a turn cost; nothing where the price is unknown, which the turn says beside it. */
export function priceOf(usage: TokenUsage, pricing: ModelPricing | undefined): number {
  if (!pricing) return 0
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  const sum =
    usage.inputTokens * perMillion(pricing.input, prompt) +
    usage.outputTokens * perMillion(pricing.output, prompt) +
    usage.cacheReadTokens * perMillion(pricing.cacheRead, prompt) +
    usage.cacheWriteTokens * perMillion(pricing.cacheWrite, prompt)
  return sum / 1_000_000
}

/** The most a turn can cost: nothing of the prompt is cached, and the answer is as long as allowed. */
export function highestPrice(promptTokens: number, outputTokens: number, pricing: ModelPricing): number {
  const prompt = Math.max(perMillion(pricing.input, promptTokens), perMillion(pricing.cacheWrite, promptTokens))
  return (promptTokens * prompt + outputTokens * perMillion(pricing.output, promptTokens)) / 1_000_000
}

/** How long an answer may be for a turn to cost no more than this. */
export function affordableOutput(usd: number, promptTokens: number, pricing: ModelPricing): number {
  const left = usd - highestPrice(promptTokens, 0, pricing)
  const price = perMillion(pricing.output, promptTokens)
  return price === 0 ? Number.POSITIVE_INFINITY : Math.floor((left * 1_000_000) / price)
}

function perMillion(price: Price, promptTokens: number): number {
  if (typeof price === 'number') return price
  const tier = price.tiers.findLast(({ start }) => promptTokens > start)
  return tier?.price ?? price.base
}
