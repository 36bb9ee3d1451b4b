import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** What ours is compared with: the newest releases that say they run on Node 20. */
export const peerNames = ['pi', 'vercel-ai', 'langgraph', 'openai-agents', 'mastra'] as const

const source = fileURLToPath(new URL('../../peers/package.json', import.meta.url))
const folder = fileURLToPath(new URL('../../node_modules/.cache/peers', import.meta.url))

/** Installs the peers outside of the workspace, once, and answers where their contestants have to lie to find them. */
export async function installPeers(): Promise<{ script: string; names: readonly string[] }> {
  const done = join(folder, 'installed.json')
  const wanted = readFileSync(source, 'utf8')
  if (!existsSync(done) || readFileSync(done, 'utf8') !== wanted) {
    mkdirSync(folder, { recursive: true })
    cpSync(source, join(folder, 'package.json'))
    process.stderr.write('installing the peers, which takes a few minutes the first time\n')
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock']
    await promisify(execFile)('npm', args, { cwd: folder, maxBuffer: 1e8 })
    writeFileSync(done, wanted)
  }
  return { script: join(folder, 'contestants.mjs'), names: peerNames }
}
