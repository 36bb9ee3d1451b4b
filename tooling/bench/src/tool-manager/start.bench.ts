import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type Benchmark, interleave } from '../figure.ts'
import { definition, lockOf, manifestOf, scripted, serverFile } from './scripted.ts'

/** A process that boots the tools of one agent and knows what to tell the model. */
const entry = `
import { readFileSync } from 'node:fs'
import { bootTools, openPackageStore, openSandbox, openServerPool } from '@matrix/tool-manager'
const { manifest, lock } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const pool = openServerPool({ sandbox: await openSandbox({ mode: 'off' }), store: openPackageStore('/nowhere', { offline: true }) })
const tools = bootTools({ pool, manifest, lock })
const specs = await tools.specs()
if (specs.length !== manifest.servers.length * 6) throw new Error('tools are missing')
`

/** How much later an agent starts because it has many servers. */
export const benchmark: Benchmark = {
  name: 'agent start',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    try {
      const program = join(folder, 'start.mjs')
      const resolveDir = fileURLToPath(new URL('.', import.meta.url))
      const banner = "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);"
      await build({
        stdin: { contents: entry, resolveDir },
        outfile: program,
        bundle: true,
        platform: 'node',
        format: 'esm',
        mainFields: ['module', 'main'],
        banner: { js: banner },
        external: ['@vscode/ripgrep'],
        logLevel: 'error',
      })
      const files = { none: write(folder, 0), thirty: write(folder, 30) }
      const times = await interleave(15, {
        none: () => execFileSync(process.execPath, [program, files.none]),
        thirty: () => execFileSync(process.execPath, [program, files.thirty]),
      })
      const floor = { floor: times.none, against: 'with none' }
      return [{ name: 'start with 30 locked servers, one dead', unit: 'ms', ours: times.thirty, ...floor, limit: 1.2 }]
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

function write(folder: string, count: number): string {
  const tools = Array.from({ length: 6 }, (_, index) => definition(`tool_${index}`))
  const servers = Array.from({ length: count }, (_, index) => ({
    ...scripted(`server-${index}`, tools),
    args: [index === 7 ? '/nowhere/server.mjs' : serverFile, '/workspace'],
  }))
  const manifest = manifestOf(servers)
  const file = join(folder, `${count}.json`)
  writeFileSync(file, JSON.stringify({ manifest, lock: lockOf(manifest, tools) }))
  return file
}
