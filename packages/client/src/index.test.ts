import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

test('in a browser the client weighs less than 8 kB, and brings no schema along', async () => {
  const entry = fileURLToPath(new URL('./index.ts', import.meta.url))
  const options = { bundle: true, minify: true, format: 'esm', metafile: true, write: false } as const
  const { outputFiles, metafile } = await build({ entryPoints: [entry], ...options })

  expect(gzipSync(outputFiles[0]?.contents ?? '').length).toBeLessThan(8_000)
  const output = Object.values(metafile.outputs)[0]
  const weights = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  expect(weights.map(([file]) => file).filter((file) => /zod|routes/.test(file))).toEqual([])
})
