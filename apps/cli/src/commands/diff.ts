import {
  type Change,
  checkLock,
  checkManifest,
  detectFormat,
  diffLock,
  diffManifest,
  type Lock,
  type Manifest,
  parseDocument,
} from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

/** What changed, in words, the most dangerous first; like diff(1), the outcome says whether anything did. */
export async function diff(before: string, after: string, { json }: { json?: boolean }): Promise<ExitCode> {
  const changes = compare(await load(before), await load(after))
  if (json) printJson({ before, after, same: changes.length === 0, changes })
  else
    print(
      changes.length === 0 ? 'Nothing differs.' : `${changes.map(formatChange).join('\n')}\n\n${formatTotals(changes)}`,
    )
  return changes.length === 0 ? exitCode.ok : exitCode.findings
}

type Loaded = { manifest: Manifest; lock?: Lock }

/** Two locks are compared whole; a lock and a manifest by what both have. */
function compare(before: Loaded, after: Loaded): Change[] {
  return before.lock && after.lock ? diffLock(before.lock, after.lock) : diffManifest(before.manifest, after.manifest)
}

async function load(path: string): Promise<Loaded> {
  const { value } = parseDocument(await readInput(path))
  const format = detectFormat(value)
  if (format === 'lock') {
    const { lock } = checkLock(value)
    if (lock) return { manifest: lock.manifest, lock }
  } else {
    const { manifest } = checkManifest(value)
    if (manifest) return { manifest }
  }
  throw new MatrixError('DOCUMENT_UNREADABLE', `${path} is not a manifest or lock that can be read.`, {
    hint: `Run matrix verify --offline ${path} to see why.`,
  })
}

function formatChange({ danger, where, message }: Change): string {
  const colors = colorsFor(process.stdout)
  const paint = { high: colors.red, medium: colors.yellow, low: colors.dim }[danger]
  const place = [where?.server, where?.tool].filter(Boolean).join('/')
  return `${paint(danger.padEnd(6))}  ${place ? `${colors.bold(printableLine(place))}: ` : ''}${printableLine(message)}`
}

function formatTotals(changes: readonly Change[]): string {
  const count = (danger: Change['danger']) => changes.filter((change) => change.danger === danger).length
  return `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}: ${count('high')} of high, ${count('medium')} of medium, ${count('low')} of low danger.`
}
