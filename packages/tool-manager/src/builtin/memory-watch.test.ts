import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { programTransport } from '../program-transport.ts'
import { MEMORY_LIMIT } from '../sandbox/boxed.ts'
import { giveTree, resolveIdentity } from '../sandbox/identity.ts'
import { openSandbox } from '../sandbox/sandbox.ts'
import { builtinLaunch } from './builtin-launch.ts'

const sandbox = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(sandbox.isBoxing)
const package_ = fileURLToPath(new URL('../..', import.meta.url))
let base: string
let client: Client

beforeAll(async () => {
  if (!sandbox.isBoxing) return
  base = mkdtempSync(join(tmpdir(), 'matrix-memory-'))
  chmodSync(base, 0o755)
  const serverFile = join(base, 'serve-tools.mjs')
  execFileSync(process.execPath, [join(package_, 'bundle.mjs'), serverFile])
  symlinkSync(join(package_, 'node_modules'), join(base, 'node_modules'))
  const root = join(base, 'worktree')
  mkdirSync(root)
  const identity = resolveIdentity()
  if (identity) giveTree(root, identity)
  const launch = await builtinLaunch({ root, serverFile, sideEffects: ['read', 'write', 'shell'], version: '1.0.0' })
  const limits = { memoryBytes: Number.POSITIVE_INFINITY, fileBytes: 1 << 20 }
  client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(
    programTransport(() =>
      sandbox.spawn({
        ...launch,
        env: { ...launch.env, [MEMORY_LIMIT]: String(512 << 20) },
        policy: { ...launch.policy, limits },
      }),
    ),
  )
})
afterAll(async () => {
  if (!sandbox.isBoxing) return
  await client.close()
  rmSync(base, { recursive: true })
})

const hog = (megabytes: number) =>
  `perl -e '$| = 1; print "begun\\n"; for (1..${megabytes}) { push @all, "x" x (1 << 20) } sleep 20; print "done\\n"'`

boxedTest('a command that takes more memory than its sandbox has is ended, and its output says so', async () => {
  const text = await bash(hog(1000))

  expect(text).toMatch(/^begun\n/)
  expect(text).toMatch(/\[memory limit: perl held \d\.\d GiB and was ended; .* may hold 0\.5 GiB together\]/)
  expect(text).toContain('exit code 137')
})

boxedTest('what several processes hold counts together, and one that stays below is left alone', async () => {
  expect(await bash(`${hog(300)} & ${hog(300)} & wait -n; kill %1 %2 2>/dev/null; echo over`)).toContain(
    '[memory limit: perl',
  )
  expect(await bash(`perl -e '$x = "x" x (100 << 20); print "fine"'`)).toBe('fine')
})

boxedTest('memory that is only reserved does not count, as sanitizers reserve it', async () => {
  // mmap of a terabyte, private and writable, without reservation.
  const mmap = process.arch === 'arm64' ? 222 : 9
  const reserve = `perl -e 'print syscall(${mmap}, 0, 1 << 40, 3, 0x4022, -1, 0) > 0 ? "reserved" : "refused: $!"'`

  expect(await bash(reserve)).toBe('reserved')
})

boxedTest('a file that grows past its limit is named as the reason', async () => {
  expect(await bash('head -c 2000000 /dev/zero > large')).toMatch(
    /\[a file grew past the limit of the sandbox for one file\]/,
  )
})

async function bash(command: string): Promise<string> {
  const { content } = await client.callTool({ name: 'bash', arguments: { command } })
  return (content as { text: string }[])[0]?.text ?? ''
}
