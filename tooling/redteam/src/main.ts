import { parseArgs } from 'node:util'
import { isStopped, type Outcome, runFamily } from './attack.ts'
import { families } from './families/index.ts'
import { openGround } from './ground.ts'
import { formatTable } from './table.ts'

const usage = `Usage: pnpm redteam [words…] [--json]
Makes every attack whose family or name holds one of the words, or all of them.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, help: { type: 'boolean' } },
})
if (values.help) process.stdout.write(`${usage}\n`)
else {
  const outcomes = await attack(families.filter(({ name }) => positionals.every((word) => name.includes(word))))
  const failed = outcomes.filter((outcome) => !isStopped(outcome))
  if (values.json) process.stdout.write(`${JSON.stringify(outcomes, null, 2)}\n`)
  else {
    for (const line of formatTable(outcomes)) process.stdout.write(`${line}\n`)
    for (const { family, attack } of failed) process.stdout.write(`FAILED ${family}: ${attack.name}\n`)
    process.stdout.write(`${outcomes.length - failed.length} passed, ${failed.length} failed\n`)
  }
  process.exitCode = failed.length === 0 && outcomes.length > 0 ? 0 : 1
}

async function attack(chosen: typeof families): Promise<Outcome[]> {
  const ground = await openGround()
  const outcomes: Outcome[] = []
  try {
    for (const family of chosen) {
      process.stderr.write(`${family.name}: ${family.attacks.length} attacks\n`)
      outcomes.push(...(await runFamily(family, ground)))
    }
  } finally {
    await ground.close()
  }
  return outcomes
}
