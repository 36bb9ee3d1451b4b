import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { corpus } from './corpus.ts'
import type { Project } from './project.ts'
import { openProofRecords } from './proof-record.ts'
import { type Proof, prove } from './prove.ts'
import { builds, openStage } from './stage.ts'
import { formatRemarks, formatTable } from './table.ts'

const usage = `Usage: pnpm proving [names…] [--all | --ci] [--resume] [--json]
Projects: ${corpus.map(({ name }) => name).join(' ')}
Without names: those that every change is checked with, as --ci. --all takes all of them.
With --resume, projects that this build of Matrix has passed already are not run again.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean' },
    ci: { type: 'boolean' },
    resume: { type: 'boolean' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
const unknown = positionals.filter((name) => !corpus.some((project) => project.name === name))

if (values.help || unknown.length > 0) {
  process.stderr.write(`${unknown.map((name) => `No project "${name}".\n`).join('')}${usage}\n`)
  process.exitCode = values.help ? 0 : 2
} else {
  const proofs = await proveAll(chosen())
  if (values.json) process.stdout.write(`${JSON.stringify(proofs, null, 2)}\n`)
  else for (const line of [...formatTable(proofs), ...formatRemarks(proofs)]) process.stdout.write(`${line}\n`)
  const failed = proofs.filter(({ faults }) => faults.length > 0).length
  if (!values.json) process.stdout.write(`${proofs.length - failed} passed, ${failed} failed\n`)
  process.exitCode = failed === 0 ? 0 : 1
}

function chosen(): Project[] {
  if (values.all) return [...corpus]
  if (positionals.length > 0) return corpus.filter(({ name }) => positionals.includes(name))
  return corpus.filter(({ quick }) => quick)
}

async function proveAll(projects: readonly Project[]): Promise<Proof[]> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'matrix/proving')
  const records = openProofRecords(join(cache, 'proofs'), builds)
  const stage = await openStage(join(cache, 'stage'))
  const proofs: Proof[] = []
  const leave = () => void stage.close().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave)
  try {
    for (const project of projects) {
      const earlier = values.resume ? records.find(project) : undefined
      process.stderr.write(`${earlier ? 'proven before:' : 'proving'} ${project.name}\n`)
      const proof = earlier ?? (await prove(project, { cache, stage }))
      proofs.push(proof)
      if (!earlier) records.keep(project, proof)
      // A run takes long: each result is said when it is there.
      for (const line of [...formatTable([proof]).slice(1), ...formatRemarks([proof])])
        process.stderr.write(`${line}\n`)
    }
  } finally {
    await stage.close()
  }
  return proofs
}
