import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { verifyDocument } from '@matrix/manifest'
import { parseTOML } from 'toml-eslint-parser'
import { type Benchmark, interleave } from '../figure.ts'

const count = 1000

/** What a platform team pays for checking every manifest of a large organisation. */
export const benchmark: Benchmark = {
  name: 'manifest verification',
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    try {
      const files = Array.from({ length: count }, (_, index) => writeManifest(folder, index))
      const times = await interleave(7, {
        parse: () => files.forEach((file) => void JSON.parse(readFileSync(file, 'utf8'))),
        verify: () => verifyAll(files),
      })
      const mixed = Array.from({ length: count }, (_, index) => writeMixed(folder, index))
      const mixedTimes = await interleave(7, { parse: () => parseAll(mixed), verify: () => reportAll(mixed) })
      return [
        {
          name: `verify ${count} manifests of 12 servers, 128 tools`,
          unit: 'ms',
          ours: times.verify,
          floor: times.parse,
          against: 'read + JSON.parse',
          limit: 6,
        },
        {
          name: `verify ${count} files of six kinds, as a folder holds them`,
          unit: 'ms',
          ours: mixedTimes.verify,
          floor: mixedTimes.parse,
          against: 'read + JSON.parse or TOML parser',
          limit: 6,
        },
      ]
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

async function verifyAll(files: string[]): Promise<void> {
  for (const file of files) {
    const { findings } = await verifyDocument(readFileSync(file))
    if (findings.length > 0) throw new Error(`${file}: ${findings[0]?.message}`)
  }
}

function parseAll(files: string[]): void {
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    if (file.endsWith('.toml')) parseTOML(text)
    else JSON.parse(text)
  }
}

async function reportAll(files: string[]): Promise<void> {
  for (const file of files) {
    const { format, findings } = await verifyDocument(readFileSync(file), { fileName: basename(file) })
    const isOther = file.endsWith('package.json')
    if ((format === undefined) !== isOther) throw new Error(`${file}: ${findings[0]?.message}`)
  }
}

/** Manifests, settings of four programs, and a file of no known format, in turns. */
function writeMixed(folder: string, index: number): string {
  const start = (server: number) => ({ command: 'npx', args: ['-y', `@scope/server-${server}@1.0.${index}`] })
  const each = <Entry>(entry: (server: number) => Entry) =>
    Object.fromEntries(Array.from({ length: 8 }, (_, server) => [`server-${server}`, entry(server)]))
  const toml = Array.from({ length: 8 }, (_, server) => {
    const { command, args } = start(server)
    return `[mcp_servers.server-${server}]\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n`
  })
  const kinds: (() => [string, string])[] = [
    () => ['client.mcp.json', JSON.stringify({ mcpServers: each(start) }, null, 2)],
    () => ['vscode.json', JSON.stringify({ servers: each(start) }, null, 2)],
    () => ['opencode.json', JSON.stringify({ mcp: each((server) => opencodeEntry(start(server))) }, null, 2)],
    () => ['config.toml', toml.join('\n')],
    () => ['package.json', JSON.stringify({ name: 'x', dependencies: each((server) => `^${server}.0.0`) }, null, 2)],
  ]
  const kind = kinds[index % 6]
  if (!kind) return writeManifest(folder, index)
  const [name, text] = kind()
  const file = join(folder, `${index}-${name}`)
  writeFileSync(file, text)
  return file
}

function opencodeEntry({ command, args }: { command: string; args: string[] }): object {
  return { type: 'local', command: [command, ...args] }
}

function writeManifest(folder: string, index: number): string {
  const servers = Array.from({ length: 12 }, (_, server) => ({
    alias: `server-${server}`,
    transport: 'stdio',
    command: 'npx',
    args: ['-y', `@scope/server-${server}@2026.8.${server}`, '/workspace'],
    env: [`SERVICE_TOKEN=$env:SERVICE_${server}_TOKEN`],
    package_digest: `sha256:${(index * 12 + server + 0xabc123).toString(16).padStart(8, '0').repeat(8)}`,
    version: `2026.8.${server}`,
    tools: Array.from({ length: server < 8 ? 11 : 10 }, (_, tool) => ({
      name: `tool_${tool}`,
      description: `Does the thing number ${tool} to what stands in the worktree, and says what it did.`,
      side_effect_class: ['read', 'write', 'network'][tool % 3],
    })),
  }))
  const manifest = {
    schema_version: 1,
    agent: `matrix://agent/bench-${index}`,
    description: 'Measured',
    allowed_side_effects: ['read', 'write', 'network'],
    servers,
  }
  const file = join(folder, `${index}.json`)
  writeFileSync(file, JSON.stringify(manifest, null, 2))
  return file
}
