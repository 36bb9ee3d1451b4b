import { execFileSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { build } from 'esbuild'
import { nodeProgram } from '../../bundle.base.mjs'

await rm('dist', { recursive: true, force: true })
await build(nodeProgram)
// What is read or run as files of their own: the tools for their box, the manifests and the sample that come with Matrix.
const run = (script, target) => execFileSync(process.execPath, [script, target], { stdio: 'inherit' })
run('../../packages/tool-manager/bundle.mjs', 'dist/serve-tools.mjs')
run('../../packages/orchestrator/copy-agents.mjs', 'dist/agents')
await cp('../../packages/demo/sample', 'dist/sample', { recursive: true })
// Where the web UI has been built, it is published along.
await cp('../ui/dist', 'dist/ui', { recursive: true }).catch(() => {})
