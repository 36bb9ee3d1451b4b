// Writes the digest of the built-in server, as it was just built, into every shipped manifest: pnpm pin
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const built = readFileSync(new URL('packages/tool-manager/dist/serve-tools.mjs', root))
const digest = `sha256:${createHash('sha256').update(built).digest('hex')}`

for (const name of readdirSync(new URL('agents/', root)).filter((each) => each.endsWith('.json'))) {
  const file = new URL(`agents/${name}`, root)
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace(/("command": "mxd",[^}]*?"package_digest": ")sha256:[0-9a-f]{64}/g, `$1${digest}`))
}
process.stdout.write(`${digest}\n`)
