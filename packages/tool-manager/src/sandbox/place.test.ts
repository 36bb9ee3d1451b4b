import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BoxPolicy } from './box-policy.ts'
import { giveTree, resolveIdentity } from './identity.ts'
import { openSandbox } from './sandbox.ts'

const sandbox = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(sandbox.isBoxing)
if (!sandbox.isBoxing) process.stderr.write('NOT TESTED: nothing can be boxed here.\n')

let folder: string
let worktree: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-place-'))
  chmodSync(folder, 0o755)
  worktree = join(folder, 'worktree')
  mkdirSync(worktree)
  writeFileSync(join(worktree, '.git'), 'gitdir: /real\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

boxedTest('what one box leaves in a shared home, the next one finds', async () => {
  const home = makeFolder('home')

  await run('mkdir -p ~/.cache && echo kept > ~/.cache/file && chmod 600 ~/.cache/file', { home })

  expect(await run('cat ~/.cache/file; echo $HOME', { home })).toBe('kept\n/home/agent\n')
  expect(readFileSync(join(home, '.cache/file'), 'utf8')).toBe('kept\n')
})

boxedTest('a writable folder is at the same path inside, and only it can be written', async () => {
  const git = makeFolder('git')

  await run(`echo ours > ${git}/HEAD; echo private > ${folder}/other`, { writable: [git] })

  expect(readFileSync(join(git, 'HEAD'), 'utf8')).toBe('ours\n')
  expect(existsSync(join(folder, 'other'))).toBe(false)
})

boxedTest('a /tmp on disk is empty at first, apart from every other, and gone with its box', async () => {
  const scratch = join(folder, 'tmp')
  mkdirSync(join(scratch, 'left-by-a-crash'), { recursive: true })

  const leave =
    'mkdir -p /tmp/a/closed && touch /tmp/a/closed/file && chmod 000 /tmp/a/closed && ln -s /etc /tmp/etc; ls /tmp'
  expect(await run(leave, { scratch })).toMatch(/^a\netc\n/)
  expect(await run('ls /tmp /var/tmp; stat -c %a /tmp', { scratch })).not.toContain('etc')
  await expect.poll(() => readdirSync(scratch)).toEqual([])
  expect(existsSync('/etc/passwd')).toBe(true)
})

boxedTest('a real test suite has room: files, processes, shared memory, terminals', async () => {
  const output = await run('ulimit -n; ulimit -u; df -k --output=size /dev/shm | tail -1; script -qec tty /dev/null')
  const [files, processes, shared, terminal] = output.trim().split('\n')

  expect(Number(files)).toBeGreaterThanOrEqual(1024)
  expect(Number(processes)).toBe(4096)
  expect(Number(shared)).toBe(2 << 20)
  expect(terminal).toMatch(/^\/dev\/pts\/\d/)
})

boxedTest('an overlay stands in place of the protected path, and cannot be written or removed', async () => {
  const source = join(folder, 'pointer')
  writeFileSync(source, 'gitdir: /box\n')
  const overlays = [{ source, target: join(worktree, '.git') }]

  const output = await run('cat .git; rm .git; echo x > .git; cat .git', { overlays })

  expect(output).toMatch(/^gitdir: \/box\n.*(?:busy|Read-only).*\n.*Read-only.*\ngitdir: \/box\n$/s)
  expect(readFileSync(join(worktree, '.git'), 'utf8')).toBe('gitdir: /real\n')
})

boxedTest('nothing is put over a path that the agent could swap for a link', async () => {
  const source = join(folder, 'pointer')
  writeFileSync(source, '')
  symlinkSync('/tmp', join(worktree, '.vscode'))

  for (const name of ['src', '.vscode'])
    await expect(run('true', { overlays: [{ source, target: join(worktree, name) }] })).rejects.toThrow(
      `${join(worktree, name)} cannot be covered: it is not a protected path of the worktree.`,
    )
})

function makeFolder(name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

async function run(command: string, policy: Partial<BoxPolicy> = {}): Promise<string> {
  const identity = resolveIdentity()
  if (identity) giveTree(folder, identity)
  const running = await sandbox.spawn({
    program: '/bin/bash',
    args: ['-c', `exec 2>&1; ${command}`],
    policy: { sideEffects: ['read', 'write', 'shell'], worktree, ...policy },
  })
  return Buffer.concat(await running.stdout.toArray()).toString()
}
