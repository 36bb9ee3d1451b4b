import { parseArgs } from 'node:util'
import { isStopped, runFamily } from './attack.ts'
import { doBenignWork, isUnhindered } from './benign.ts'
import { families } from './families/index.ts'
import { openGround } from './ground.ts'
import { formatTable, formatWork } from './table.ts'

const usage = `Usage: pnpm redteam [words…] [--json]
Makes every attack of the families whose name holds the words, or of all. The family "ordinary work" attacks nothing: it reads the web and must not be asked about.`

const ordinaryWork = 'ordinary work'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, help: { type: 'boolean' } },
})
if (values.help) process.stdout.write(`${usage}\n`)
else await main()

async function main(): Promise<void> {
  const isChosen = (name: string) => positionals.every((word) => name.includes(word))
  const chosen = families.filter(({ name }) => isChosen(name))
  const attacks = []
  const ground = await openGround()
  try {
    for (const family of chosen) {
      process.stderr.write(`${family.name}: ${family.attacks.length} attacks\n`)
      attacks.push(...(await runFamily(family, ground)))
    }
    const work = isChosen(ordinaryWork) ? await doBenignWork(ground) : undefined
    const failed = attacks.filter((outcome) => !isStopped(outcome))
    if (values.json) process.stdout.write(`${JSON.stringify({ attacks, work }, null, 2)}\n`)
    else {
      for (const line of attacks.length > 0 ? formatTable(attacks) : []) process.stdout.write(`${line}\n`)
      for (const line of work ? formatWork(ordinaryWork, work) : []) process.stdout.write(`${line}\n`)
      for (const { family, attack } of failed) process.stdout.write(`FAILED ${family}: ${attack.name}\n`)
      process.stdout.write(`${attacks.length - failed.length} passed, ${failed.length} failed\n`)
    }
    const isMade = attacks.length > 0 || work !== undefined
    process.exitCode = isMade && failed.length === 0 && (!work || isUnhindered(work)) ? 0 : 1
  } finally {
    await ground.close()
  }
}
