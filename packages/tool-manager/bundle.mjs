// Puts the built-in tools into one file, which is all that their box has to see: node bundle.mjs [file]
import { build } from 'esbuild'

await build({
  entryPoints: [new URL('src/builtin/main.ts', import.meta.url).pathname],
  outfile: process.argv[2] ?? new URL('dist/serve-tools.mjs', import.meta.url).pathname,
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
