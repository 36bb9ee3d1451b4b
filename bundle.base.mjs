/**
 * How the programs of Matrix are bundled: one file to start with, and a chunk for everything that is loaded when it is needed.
 * @type {import('esbuild').BuildOptions & { outdir: string }}
 */
export const nodeProgram = {
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // jsonc-parser's CommonJS form cannot be bundled; its ES module form can.
  mainFields: ['module', 'main'],
  // Native programs, which have to be among the dependencies of whatever is bundled.
  external: ['@vscode/ripgrep', 'better-sqlite3', 'better-sqlite3-node20'],
  minify: true,
  chunkNames: 'chunks/[name]-[hash]',
  // Bundled CommonJS dependencies still ask for `require`.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
  },
}
