// Writes the built-in server, as it was just built, into every shipped manifest and its lock, without the network: pnpm pin
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { formatLock, type Lock, type Manifest } from '@matrix/manifest'
import { getServerFile } from '@matrix/tool-manager'
import { agentFile, readAgentFile, renewLock, shippedAgents } from './shipped-lock.ts'

const digest = `sha256:${createHash('sha256').update(readFileSync(getServerFile())).digest('hex')}`

for (const name of ['catalog', ...shippedAgents]) {
  const file = agentFile(`${name}.json`)
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace(/("command": "mxd",[^}]*?"package_digest": ")sha256:[0-9a-f]{64}/g, `$1${digest}`))
}
for (const name of shippedAgents) {
  const lock = renewLock(readAgentFile<Manifest>(`${name}.json`), readAgentFile<Lock>(`${name}.lock.json`))
  writeFileSync(agentFile(`${name}.lock.json`), formatLock(lock))
}
process.stdout.write(`${digest}\n`)
