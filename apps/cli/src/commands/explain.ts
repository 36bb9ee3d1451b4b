import { findRule, type Rule, rules } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

/** One rule in full, the rules behind one locked design rule, or the list of all. */
export function explain(name: string | undefined, { json }: { json?: boolean }): ExitCode {
  const chosen = chooseRules(name?.toUpperCase())
  if (json) printJson(chosen.map(([id, rule]) => ({ id, ...rule })))
  else
    print(
      name && !name.toUpperCase().startsWith('Q') ? chosen.map(describe).join('\n') : chosen.map(summarise).join('\n'),
    )
  return exitCode.ok
}

function chooseRules(name: string | undefined): [string, Rule][] {
  const all: [string, Rule][] = Object.entries(rules)
  if (name === undefined) return all
  const rule = findRule(name)
  const chosen = rule ? [[name, rule] satisfies [string, Rule]] : all.filter(([, { locked }]) => locked === name)
  if (chosen.length === 0)
    throw new MatrixError('FORMAT_UNKNOWN', `There is no rule ${name}.`, {
      hint: 'Run matrix explain to list all rules.',
    })
  return chosen
}

function describe([id, { title, severity, locked, why, fix }]: [string, Rule]): string {
  const { bold, dim } = colorsFor(process.stdout)
  return `${bold(`${id}: ${title}`)}\n${dim(`${severity}${locked ? `, locked design rule ${locked}` : ''}`)}\n\n${why}\n\n${bold('Fix:')} ${fix}\n`
}

function summarise([id, { title, severity, locked }]: [string, Rule]): string {
  const { bold, dim } = colorsFor(process.stdout)
  return `${bold(id)}  ${dim(severity.padEnd(7))}  ${(locked ?? '').padEnd(3)}  ${title}`
}
