import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyDocument } from '@matrix/manifest'
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
      return [
        {
          name: `verify ${count} manifests of 12 servers, 128 tools`,
          unit: 'ms',
          ours: times.verify,
          floor: times.parse,
          against: 'read + JSON.parse',
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
