// Puts the built-in tools into one file, which is all that their box has to see: node bundle.mjs [file]
import { resolve } from 'node:path'
import { build } from 'esbuild'

await build({
  // Paths stand in the output: wherever it is built from, it has to be the same file.
  absWorkingDir: new URL('.', import.meta.url).pathname,
  entryPoints: [new URL('src/builtin/main.ts', import.meta.url).pathname],
  outfile: resolve(process.argv[2] ?? new URL('dist/serve-tools.mjs', import.meta.url).pathname),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  // Found on the host and handed over; where it is missing, the system's own is used.
  external: ['@vscode/ripgrep'],
  logLevel: 'warning',
})
