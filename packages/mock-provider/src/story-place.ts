/** Where in which conversation a story stands, and what was captured on the way there. */
export type StoryPlace = { name: string; turn: number; variables: Map<string, string> }

const shape = /\[story (\S+)#(\d+)((?: \S+=\S*)*)\]/g

/** What `{{place}}` becomes: a summary that holds it lets the story go on after the history is gone. */
export function formatPlace({ name, turn, variables }: StoryPlace): string {
  const kept = [...variables].filter(([key]) => key !== 'place')
  const values = kept.map(([key, value]) => ` ${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
  return `[story ${encodeURIComponent(name)}#${turn}${values.join('')}]`
}

/** The last place that a text names. */
export function readPlace(text: string): StoryPlace | undefined {
  const [, name, turn, values] = [...text.matchAll(shape)].at(-1) ?? []
  if (name === undefined || turn === undefined) return undefined
  const pairs = (values ?? '').trim().split(' ').filter(Boolean)
  const variables = pairs.map((pair) => pair.split('=').map(decodeURIComponent) as [string, string])
  return { name: decodeURIComponent(name), turn: Number(turn), variables: new Map(variables) }
}
