import type { SessionConfiguration } from '../http/configuration.ts'
import { formatCount, formatUsd, plural } from './quantity.ts'

/** What differs between the configuration that a session runs with and the one that the settings give now. */
export function describeChanges({ current, offered, changes }: SessionConfiguration): string[] {
  if (!current) return []
  const { addedTools, removedTools, changedTools } = changes
  const list = (names: string[]) => `${plural(names.length, 'tool')} (${names.join(', ')})`
  return [
    ...(changes.model ? [`model ${current.model} → ${offered.model}`] : []),
    ...(changes.prompt ? ['another system prompt'] : []),
    ...(addedTools.length > 0 ? [`adds ${list(addedTools)}`] : []),
    ...(removedTools.length > 0 ? [`removes ${list(removedTools)}`] : []),
    ...(changedTools.length > 0 ? [`changes ${list(changedTools)}`] : []),
  ]
}

/** Whether the settings would give the session another configuration than the one it runs with. */
export function isChanged(configuration: SessionConfiguration): boolean {
  return describeChanges(configuration).length > 0
}

/** What is paid once, because the provider's cache does not fit any more. */
export function describeCacheCost({ cache: { tokens, usd } }: SessionConfiguration): string {
  if (tokens === 0) return 'Nothing is cached yet, so it costs nothing.'
  const cost = usd === null ? 'its cost is unknown' : `at most ${formatUsd(usd)} once`
  return `The provider reads ${formatCount(tokens)} tokens anew instead of from its cache: ${cost}.`
}
