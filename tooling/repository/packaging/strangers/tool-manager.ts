import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootTools, executeTool, openPackageStore, openSandbox, openServerPool } from '@matrix/tool-manager'

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

const pool = openServerPool({
  sandbox: await openSandbox({ mode: 'off' }),
  store: openPackageStore(join(tmpdir(), 'matrix-stranger'), { offline: true }),
})
const tools = bootTools({
  pool,
  manifest: { schema_version: 1, agent: 'matrix://agent/guest', allowed_side_effects: ['read'], servers: [] },
})
const { isError, code } = await executeTool(tools, { name: 'mcp__fs__read_file', input: {} })

check((await tools.specs()).length === 0, 'A manifest without servers has tools.')
check(isError && code === 'TOOL_UNKNOWN', 'A tool that nobody declared can be called.')
await pool.close()
