/** An entry of a path list, taken apart: where it starts, and its segments with dots resolved as far as that is possible. */
type Entry = { root: '/' | '~' | '.'; segments: string[] }

/**
 * Whether everything that one entry of a path list names is also named by another, wherever the two are resolved. Without
 * proof the answer is no: beyond equal entries, it is proved by plain leading folders only, never by comparing wildcards.
 */
export function isPathWithin(entry: string, outer: string): boolean {
  if (entry === outer) return true
  const [inner, around] = [parseEntry(entry), parseEntry(outer)]
  const isEverything = around.root === '/' && around.segments.length === 0
  if (isEverything) return true

  // `src/**` is what lies below `src`, but not `src` itself.
  const isBelow = /^\*+$/.test(around.segments.at(-1) ?? '')
  const folders = isBelow ? around.segments.slice(0, -1) : around.segments
  const rest = inner.segments.slice(folders.length)
  return (
    inner.root === around.root &&
    !folders.some(isPattern) &&
    folders.every((segment, index) => segment === inner.segments[index]) &&
    !rest.includes('..') &&
    (!isBelow || rest.length > 0)
  )
}

/** One host of a list against another: equal, or below a `*.domain`, or anything at all below `*`. */
export function isHostWithin(host: string, outer: string): boolean {
  const [inner, around] = [host.toLowerCase(), outer.toLowerCase()]
  if (inner === around || around === '*') return true
  const isPlain = /^(?:\*\.)?[a-z0-9.-]+$/.test(inner)
  return around.startsWith('*.') && !isPattern(around.slice(2)) && isPlain && inner.endsWith(around.slice(1))
}

function parseEntry(entry: string): Entry {
  const root = entry.startsWith('/') ? '/' : entry === '~' || entry.startsWith('~/') ? '~' : '.'
  const segments: string[] = []
  for (const segment of (root === '~' ? entry.slice(1) : entry).split('/')) {
    const isUp = segment === '..'
    const canGoUp = segments.length > 0 && segments.at(-1) !== '..'
    if (isUp && canGoUp) segments.pop()
    // Nothing lies above the root; what lies above the working or home folder depends on where that is.
    else if (segment !== '' && segment !== '.' && !(isUp && root === '/')) segments.push(segment)
  }
  return { root, segments }
}

function isPattern(text: string): boolean {
  return /[*?[\]{}\\]/.test(text)
}
