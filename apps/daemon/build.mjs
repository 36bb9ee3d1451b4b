import { execFileSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { build } from 'esbuild'

await rm('dist', { recursive: true, force: true })
// The built-in server runs in its box as one file of its own, the same one that its package has.
execFileSync(process.execPath, ['../../packages/tool-manager/bundle.mjs', 'dist/serve-tools.mjs'], { stdio: 'inherit' })
await build({
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  external: ['better-sqlite3', '@vscode/ripgrep'],
  minify: true,
  chunkNames: 'chunks/[name]-[hash]',
  // Bundled CommonJS dependencies still ask for `require`.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
})
// What is found by looking for it beside the program.
await cp('../../packages/demo/sample', 'dist/sample', { recursive: true })
await cp('../../agents', 'dist/agents', { recursive: true })
// Where the web UI has been built, it is published along.
await cp('../ui/dist', 'dist/ui', { recursive: true }).catch(() => {})
