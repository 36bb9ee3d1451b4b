import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'

const linuxTest = test.runIf(process.platform === 'linux')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-descriptors-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

linuxTest.each([3, 15, 16, 63, 68, 300])(
  'descriptor %i that a program inherited does not reach what it starts',
  async (number) => {
    expect(await inherited(number, true)).toBe('false\n')
  },
)

linuxTest('a descriptor that an argument names can still be read', async () => {
  expect(await inherited(68, true, ['/dev/fd/68'])).toBe('true\n')
  expect(await inherited(68, true, ['--file=/proc/self/fd/68'])).toBe('true\n')
  expect(await inherited(68, true, ['{"path":"/proc/self/fd/68"}', '/proc/self/fd/68/id_rsa'])).toBe('false\n')
})

linuxTest('without closing them, Node hands on the descriptors behind a gap', async () => {
  expect(await inherited(68, false)).toBe('true\n')
})

/** Whether a grandchild finds the descriptor that its parent was started with. */
async function inherited(number: number, isClosing: boolean, args: string[] = []): Promise<string> {
  const contents = `
    import { execFileSync } from 'node:child_process'
    import { closeInherited } from './descriptors.ts'
    if (${isClosing}) closeInherited()
    const look = 'test -e /proc/self/fd/${number} && echo true || echo false'
    process.stdout.write(execFileSync('/bin/sh', ['-c', look], { stdio: ['ignore', 'pipe', 'inherit'] }))`
  const outfile = join(folder, 'program.mjs')
  const stdin = { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' } as const
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
  const secret = openSync(folder, 'r')
  const gap = Array.from({ length: number - 3 }, () => 'ignore' as const)
  const program = spawn(process.execPath, [outfile, ...args], { stdio: ['ignore', 'pipe', 'inherit', ...gap, secret] })
  closeSync(secret)
  return String(Buffer.concat((await program.stdout?.toArray()) ?? []))
}
