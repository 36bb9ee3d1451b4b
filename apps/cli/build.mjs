import { execFileSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { build, context } from 'esbuild'
import { nodeProgram } from '../../bundle.base.mjs'

await rm('dist', { recursive: true, force: true })
// The built-in server runs in its box as one file of its own, the same one that its package has.
execFileSync(process.execPath, ['../../packages/tool-manager/bundle.mjs', 'dist/serve-tools.mjs'], { stdio: 'inherit' })
// The manifests that agents get when nobody has written one for them.
await cp('../../agents', 'dist/agents', { recursive: true })
await cp('../../packages/demo/sample', 'dist/sample', { recursive: true })
if (process.argv.includes('--watch')) await (await context(nodeProgram)).watch()
else await build(nodeProgram)
