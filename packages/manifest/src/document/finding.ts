import { isLiteralCredential } from '../manifest/credential.ts'
import { type Rule, type RuleId, rules, type Severity } from './rule.ts'
import type { Path, Place, SourceText } from './source-text.ts'

/** Something wrong at a path of the document, before anyone looked up which line that is. */
export type Problem = {
  rule: RuleId
  path: Path
  message: string
  /** Replaces the rule's own advice where the place of failure knows better. */
  fix?: string
  severity?: Severity
  /** Whether to point at the name of the field instead of its value. */
  at?: 'key' | 'value'
}

/** Something wrong in the author's file, with where, why and what to do. */
export type Finding = {
  rule: RuleId
  severity: Severity
  /** The locked design rule behind it, such as Q21. */
  locked?: string
  message: string
  fix: string
  /** A JSON Pointer into the document. */
  pointer: string
} & Place

/** `strict` makes every warning an error; `bootstrap` lets placeholder digests and unpinned launchers pass with a warning. */
export type Mode = 'default' | 'strict' | 'bootstrap'

const toleratedInBootstrap: readonly RuleId[] = ['MX005', 'MX007']

/** More than anybody reads; what is left out is counted. */
export const MAX_FINDINGS = 1_000

const rank: Record<Severity, number> = { error: 0, warning: 1, note: 2 }

/** Finds line and column of each problem and settles how serious it is; in the order of the file. */
export function placeProblems(problems: Problem[], source: SourceText, mode: Mode): Finding[] {
  return limitFindings(problems.map((problem) => placeProblem(problem, source, mode)).sort(byPlace))
}

/** Of too many findings the worst, and how many more there are; in the order they came. */
export function limitFindings(findings: Finding[]): Finding[] {
  const sorted = [...findings].sort((a, b) => rank[a.severity] - rank[b.severity])
  const [worstLeft] = sorted.splice(MAX_FINDINGS)
  if (!worstLeft) return findings
  const kept = new Set(sorted)
  const last: Finding = {
    ...worstLeft,
    message: `There are ${findings.length - MAX_FINDINGS} more findings, of which this is the first.`,
    fix: 'Correct these first, then check again.',
  }
  return [...findings.filter((finding) => kept.has(finding)), last]
}

function placeProblem(problem: Problem, source: SourceText, mode: Mode): Finding {
  const pointer = formatPointer(problem.path)
  return findingAt({ pointer, ...source.locate(problem.path, problem.at) }, problem, mode)
}

/** What is found at a place: the rule says what the problem itself does not. */
export function findingAt(
  place: Place & Pick<Finding, 'pointer'>,
  problem: Pick<Problem, 'rule' | 'message' | 'fix' | 'severity'>,
  mode: Mode,
): Finding {
  const rule: Rule = rules[problem.rule]
  return {
    rule: problem.rule,
    severity: severityIn(mode, problem),
    ...(rule.locked && { locked: rule.locked }),
    message: problem.message,
    fix: problem.fix ?? rule.fix,
    ...place,
  }
}

export function severityIn(
  mode: Mode,
  { rule, severity = rules[rule].severity }: Pick<Problem, 'rule' | 'severity'>,
): Severity {
  if (mode === 'strict' && severity === 'warning') return 'error'
  if (mode === 'bootstrap' && severity === 'error' && toleratedInBootstrap.includes(rule)) return 'warning'
  return severity
}

/** A JSON Pointer, but for keys that are credentials: it is printed, and they are not. */
export function formatPointer(path: Path): string {
  return path.map((step) => `/${showStep(String(step)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function showStep(step: string): string {
  return isLiteralCredential('', step) ? '…' : step
}

function byPlace(a: Finding, b: Finding): number {
  return a.line - b.line || a.column - b.column || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0)
}
