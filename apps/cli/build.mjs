import { execFileSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { build, context } from 'esbuild'

/** One bundle with a chunk per command, so that `matrix --version` loads next to nothing. */
const options = {
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // jsonc-parser's CommonJS form cannot be bundled; its ES module form can.
  mainFields: ['module', 'main'],
  // Native programs. Where ripgrep is not installed, the system's own is used.
  external: ['@vscode/ripgrep', 'better-sqlite3'],
  minify: true,
  chunkNames: 'chunks/[name]-[hash]',
  // Bundled CommonJS dependencies still ask for `require`.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
}

await rm('dist', { recursive: true, force: true })
// The built-in server runs in its box as one file of its own, the same one that its package has.
execFileSync(process.execPath, ['../../packages/tool-manager/bundle.mjs', 'dist/serve-tools.mjs'], { stdio: 'inherit' })
// The manifests that agents get when nobody has written one for them.
await cp('../../agents', 'dist/agents', { recursive: true })
await cp('../../packages/demo/sample', 'dist/sample', { recursive: true })
if (process.argv.includes('--watch')) await (await context(options)).watch()
else await build(options)
