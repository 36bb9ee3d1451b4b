import type { Proof } from './prove.ts'

const MAX_FAULTS = 10
const head = ['', 'project', 'language', 'outside', 'inside', 'differing', 'time outside', 'time inside']

/** One line a project. Differing tests that have a reason, or differ outside too, stand in brackets. */
export function formatTable(proofs: readonly Proof[]): string[] {
  const rows = [head, ...proofs.map(rowOf)]
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column > 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

function rowOf(proof: Proof): string[] {
  const { name, language, outside, inside, differing, unstable, outsideMs, insideMs, faults } = proof
  const excused = differing.filter(({ test, why }) => why || unstable.includes(test)).length
  const count = `${differing.length - excused}${excused > 0 ? ` (${excused})` : ''}`
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const mark = faults.length === 0 ? 'ok' : 'FAILED'
  return [mark, name, language, `${outside}`, `${inside}`, count, seconds(outsideMs), seconds(insideMs)]
}

/** What is wrong with each project, and the reasons for what differs. */
export function formatRemarks(proofs: readonly Proof[]): string[] {
  return proofs.flatMap(({ name, faults, differing, unstable }) => [
    ...differing.flatMap(({ test, outside, inside, why }) => {
      const reason = why ?? (unstable.includes(test) ? 'two runs outside disagree about it' : undefined)
      return reason ? [`${name}: ${test}: ${outside} outside, ${inside} inside: ${reason}`] : []
    }),
    ...faults.slice(0, MAX_FAULTS).map((fault) => `FAILED ${name}: ${fault}`),
    ...(faults.length > MAX_FAULTS ? [`FAILED ${name}: ${faults.length - MAX_FAULTS} more; --json has all.`] : []),
  ])
}
