import { homedir } from 'node:os'
import { join } from 'node:path'
import { corpus } from '../corpus.ts'
import { type FirstAgent, measureFirstAgent } from './first-agent.ts'

const named = process.argv.slice(2)
const known = corpus.filter(({ isFirst }) => isFirst)
const unknown = named.find((name) => !corpus.some((project) => project.name === name))

if (unknown === undefined) {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'matrix/proving/first-agent')
  const chosen = named.length === 0 ? known : corpus.filter(({ name }) => named.includes(name))
  let failed = 0
  for (const project of chosen) {
    const first = await measureFirstAgent(project, cache)
    failed += isWell(first) ? 0 : 1
    for (const line of describe(first)) process.stdout.write(`${line}\n`)
  }
  process.stdout.write(`${chosen.length - failed} passed, ${failed} failed\n`)
  process.exitCode = failed === 0 ? 0 : 1
} else {
  process.stderr.write(`No project "${unknown}": ${corpus.map(({ name }) => name).join(', ')}\n`)
  process.exitCode = 2
}

function isWell({ commands, questions, faults }: FirstAgent): boolean {
  return faults.length === 0 && commands === 3 && questions.length === 1
}

function describe(first: FirstAgent): string[] {
  const { name, language, commands, questions, ms, outside, inside, faults } = first
  const way = `${commands} commands, ${questions.length} question${questions.length === 1 ? '' : 's'}`
  const tests = `${outside} tests outside, ${inside} inside`
  return [
    `${isWell(first) ? 'ok    ' : 'FAILED'}  ${name.padEnd(14)}${language.padEnd(12)}${way}, ${(ms / 1000).toFixed(1)} s; ${tests}`,
    ...questions.map((question) => `  asked: ${question}`),
    ...faults.map((fault) => `  FAILED ${name}: ${fault}`),
  ]
}
