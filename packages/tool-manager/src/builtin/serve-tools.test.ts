import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateSync, gzipSync } from 'node:zlib'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { programTransport } from '../program-transport.ts'
import { EGRESS_PORT } from '../sandbox/egress-bridge.ts'
import { giveTree, resolveIdentity } from '../sandbox/identity.ts'
import { openSandbox } from '../sandbox/sandbox.ts'
import { patience } from '../scripted-server.testing.ts'
import { builtinLaunch } from './builtin-launch.ts'
import { CALL_META, END_CALL } from './call-end.ts'
import { builtinServerTools } from './serve-tools.ts'

const identity = resolveIdentity()
const sandbox = await openSandbox({ mode: 'required' })
if (!sandbox.isBoxing && !sandbox.status.available)
  process.stderr.write(
    `NOT TESTED: nothing can be boxed here. ${sandbox.status.reason} To test it: ${sandbox.status.fix}\n`,
  )

const package_ = fileURLToPath(new URL('../..', import.meta.url))
const everything = ['read', 'write', 'shell'] as const
let base: string
let serverFile: string

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'matrix-tools-'))
  chmodSync(base, 0o755)
  serverFile = join(base, 'serve-tools.mjs')
  execFileSync(process.execPath, [join(package_, 'bundle.mjs'), serverFile], { stdio: 'inherit' })
  // What the bundle leaves out stands beside it, as it does where it is installed.
  symlinkSync(join(package_, 'node_modules'), join(base, 'node_modules'))
})
afterAll(() => rmSync(base, { recursive: true }))

const connections: [string, (root: string) => Promise<Tools>][] = [['stand-alone', connectUnboxed]]
if (sandbox.isBoxing) connections.push(['boxed', connectBoxed])

describe.each(connections)('%s', (kind, connect) => {
  let worktree: string
  let tools: Tools

  beforeAll(async () => {
    worktree = join(base, kind)
    mkdirSync(worktree)
    if (identity) giveTree(worktree, identity)
    tools = await connect(worktree)
  })
  afterAll(() => tools.close())
  afterEach(async () => {
    await tools.call('bash', { command: `cd ${worktree}` })
    for (const name of readdirSync(worktree)) rmSync(join(worktree, name), { recursive: true })
  })

  test('every tool is listed with a description and a strict schema', async () => {
    const { tools: listed } = await tools.client.listTools()

    expect(listed.map(({ name }) => name)).toEqual(builtinServerTools.map(({ name }) => name))
    for (const { description, inputSchema } of listed) {
      expect(description?.length).toBeGreaterThan(80)
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    }
  })

  test('an argument that is missing, wrong or unknown is named', async () => {
    expect(await tools.call('read_file', {})).toMatchObject({ isError: true, text: expect.stringContaining('path') })
    expect(await tools.call('read_file', { path: 'a', lines: 3 })).toMatchObject({
      isError: true,
      text: expect.stringContaining('lines'),
    })
  })

  test('bash gives back both outputs in order, and the exit code if it is not 0', async () => {
    expect(await tools.text('bash', { command: 'echo one; echo two >&2; echo three' })).toBe('one\ntwo\nthree')
    expect(await tools.text('bash', { command: 'echo no; exit 3' })).toBe('no\n[exit code 3]')
    expect(await tools.text('bash', { command: 'true' })).toBe('[no output, exit code 0]')
  })

  test('bash remembers its folder between calls, even if the command ends the shell or the folder goes', async () => {
    put('sub/deep/a.txt', '')
    expect(await tools.text('bash', { command: 'cd sub; exit 1' })).toBe('[exit code 1]\n[working directory: sub]')
    expect(await tools.text('bash', { command: 'cd deep && pwd' })).toBe(
      `${worktree}/sub/deep\n[working directory: sub/deep]`,
    )
    expect(await tools.text('bash', { command: '(cd /; pwd); pwd' })).toBe(`/\n${worktree}/sub/deep`)
    rmSync(join(worktree, 'sub'), { recursive: true })
    expect(await tools.text('bash', { command: 'pwd' })).toBe(worktree)
  })

  test('a command that takes too long is ended with all it started, and says so', async () => {
    const nap = sleepFor(77)
    const result = await tools.call('bash', { command: `echo begun; ${nap} & ${nap}`, timeout_ms: 3000 })

    expect(result.text).toMatch(/^begun\n\[ended after [3-9]\.\d s: its timeout_ms was 3000\]$/)
    expect(result.isError).toBe(true)
    expect(await tools.text('bash', { command: `pgrep -fx "${nap}" | wc -l` })).toBe('0')
  })

  test('a command that ignores the request to end is ended anyway', async () => {
    const result = await tools.call('bash', { command: `trap '' TERM; while :; do sleep 0.1; done`, timeout_ms: 100 })

    expect(result.text).toContain('its timeout_ms was 100')
  })

  test('a call that is cancelled ends its command', async () => {
    const cancel = new AbortController()
    const nap = sleepFor(78)
    const call = tools.client.callTool({ name: 'bash', arguments: { command: nap } }, { signal: cancel.signal })
    await expect.poll(() => running(nap), patience).toBe(1)
    cancel.abort()

    await expect(call).rejects.toThrow()
    await expect.poll(() => running(nap), patience).toBe(0)
  })

  test('a call that is asked to end answers with what was printed by then', async () => {
    const nap = sleepFor(81)
    const call = tools.client.callTool(
      { name: 'bash', arguments: { command: `echo begun; ${nap}` }, _meta: { [CALL_META]: 'one' } },
      { onprogress: () => void tools.client.notification({ method: END_CALL, params: { call: 'one' } }) },
    )

    expect(await call).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^begun\n\[ended after \d+\.\d s: the call was cancelled\]$/) }],
    })
    expect(running(nap)).toBe(0)
  })

  test('what is printed for a terminal comes as plain text', async () => {
    const command = String.raw`printf '\033[32mok\033[0m\n10%%\r100%%\nw\000x\377\n'; test "$TERM" = dumb`

    expect(await tools.text('bash', { command })).toBe('ok\n100%\nwx\uFFFD')
    expect(await tools.text('bash', { command: 'head -c 50000 /dev/urandom' })).toBe(
      '[50000 bytes of binary output, which is not shown]',
    )
  })

  test('a progress bar is told while it is drawn', async () => {
    const messages: (string | undefined)[] = []
    const command = String.raw`printf '10%%\r50%%'; until [ -e heard ]; do sleep 0.05; done; echo`
    await tools.client.callTool(
      { name: 'bash', arguments: { command } },
      {
        onprogress({ message }) {
          messages.push(message)
          put('heard', '')
        },
      },
    )

    expect(messages[0]).toBe('50%\n')
  })

  test('search and list_files show so much at a time, and how to continue', async () => {
    put('wide.txt', Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(400)}`).join('\n'))
    const first = await tools.text('search', { pattern: 'x+', limit: 1000 })
    const [, next = ''] = /continue with offset (\d+)\]$/.exec(first) ?? []
    expect(first.length).toBeLessThan(30_200)
    expect(await tools.text('search', { pattern: 'x+', limit: 1, offset: Number(next) })).toContain(
      `wide.txt:${Number(next) + 1}:${next} xxx`,
    )
    expect(await tools.text('search', { pattern: 'x+', offset: 5000 })).toBe('Nothing from result 5001 on.')
    for (let index = 0; index < 20; index += 1) put(`many/${index}.txt`, '')
    expect(await tools.text('list_files', { path: 'many', limit: 1, offset: 19 })).toBe('many/9.txt')
  })

  test('what a command leaves running does not hold up the answer and does not outlive it', async () => {
    const nap = sleepFor(79)
    const text = await tools.text('bash', { command: `${nap} & echo done` })

    expect(text).toBe('done\n[processes that it left running were ended]')
    expect(await tools.text('bash', { command: `pgrep -fx "${nap}" | wc -l` })).toBe('0')
  })

  test('output is told while the command runs', async () => {
    const messages: (string | undefined)[] = []
    const command = 'echo first; until [ -e heard ]; do sleep 0.05; done; echo second'
    const result = await tools.client.callTool(
      { name: 'bash', arguments: { command } },
      {
        onprogress({ message }) {
          messages.push(message)
          put('heard', '')
        },
      },
    )

    expect(messages[0]).toBe('first\n')
    expect(result.content).toMatchObject([{ text: 'first\nsecond' }])
  })

  test('long output is cut in the middle and whole in a file', async () => {
    const text = await tools.text('bash', { command: 'seq 1 100000' })
    const [, file = ''] = /all 588895 bytes are in (\S+) /.exec(text) ?? []

    expect(text.length).toBeLessThan(31_000)
    expect(text).toMatch(/^1\n2\n/)
    expect(text).toMatch(/\n100000$/)
    expect(await tools.text('read_file', { path: file, offset: 50_000, limit: 1 })).toMatch(/^ 50000\t50000\n/)
  })

  test('a flood of output neither fills memory nor delays the end', async () => {
    const result = await tools.call('bash', { command: 'yes | head -c 140000000', timeout_ms: 100_000 })

    expect(result.text).toContain('the first 134217728 of 140000000 bytes')
    expect(result.isError).toBe(false)
  })

  test('a background process can be listed, looked at, awaited and killed', async () => {
    const id = /bg_\d+/.exec(
      await tools.text('bash', {
        command: 'echo up; until [ -e seen ]; do sleep 0.05; done; echo down',
        background: true,
      }),
    )?.[0]
    const stubborn = /bg_\d+/.exec(await tools.text('bash', { command: 'sleep 80', background: true }))?.[0]

    await expect
      .poll(() => tools.text('background', { action: 'status', id }), patience)
      .toMatch(/^\[bg_\d+: running for \d+ s\]\nup$/)
    put('seen', '')
    expect(await tools.text('background', { action: 'await', id })).toMatch(/exit code 0\]\nup\ndown$/)
    expect(await tools.client.callTool({ name: 'background', arguments: { action: 'status', id } })).toMatchObject({
      structuredContent: { id, isRunning: false, exitCode: 0, output: 'up\ndown' },
    })
    expect(await tools.text('background', { action: 'await', id: stubborn, timeout_ms: 100 })).toContain('running')
    expect(await tools.text('background', { action: 'kill', id: stubborn })).toContain('ended by SIGTERM')
    const list = await tools.text('background', { action: 'list' })
    expect(list).toContain(`${id}  exit code 0  echo up`)
    expect(list).toContain(`${stubborn}  ended by SIGTERM  sleep 80`)
    expect(await tools.call('background', { action: 'status', id: 'bg_99' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('There is no background process "bg_99"'),
    })
  })

  test('read_file numbers lines, and offset and limit choose among them', async () => {
    put('a.txt', 'one\ntwo\n\nfour')
    expect(await tools.text('read_file', { path: 'a.txt' })).toBe('     1\tone\n     2\ttwo\n     3\t\n     4\tfour')
    expect(await tools.text('read_file', { path: join(worktree, 'a.txt'), offset: 2, limit: 1 })).toBe(
      '     2\ttwo\n[continue with offset 3]',
    )
    expect(await tools.text('read_file', { path: 'a.txt', offset: 9 })).toBe(
      'a.txt has 4 lines; there is none from line 9 on.',
    )
    put('empty', '')
    expect(await tools.text('read_file', { path: 'empty' })).toBe('empty is empty.')
  })

  test('read_file shows many and long lines in part, whatever the pieces they are read in', async () => {
    put('many.txt', Array.from({ length: 5000 }, (_, index) => `line ${index + 1} äöü`).join('\n'))
    const many = await tools.text('read_file', { path: 'many.txt', offset: 1500 })
    expect(many).toMatch(/^ {2}1500\tline 1500 äöü\n/)
    expect(many).toMatch(/\n {2}3499\tline 3499 äöü\n\[continue with offset 3500\]$/)

    put('long.txt', `${'ä'.repeat(1_000_000)}\nend`)
    const long = await tools.text('read_file', { path: 'long.txt' })
    expect(long).toBe(`     1\t${'ä'.repeat(2000)}…\n     2\tend\n[lines longer than 2000 characters are cut]`)
  })

  test('read_file gives a picture as a picture, by its bytes and not by its name', async () => {
    const png = pngOf(2, 3)
    put('picture.txt', png)
    const { content } = await tools.client.callTool({ name: 'read_file', arguments: { path: 'picture.txt' } })

    expect(content).toEqual([{ type: 'image', mimeType: 'image/png', data: png.toString('base64') }])
  })

  test('case 42: a bomb is not set off: a picture with too many pixels, a packed file, a file with a hole', async () => {
    put('bomb.png', pngOf(60_000, 60_000))
    expect(await tools.call('read_file', { path: 'bomb.png' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('too large to be shown: image/png, 60000x60000'),
    })
    put('bomb.gz', gzipSync(Buffer.alloc(20_000_000)))
    expect(await tools.text('read_file', { path: 'bomb.gz' })).toMatch(
      /^bomb.gz is a binary file of \d+ bytes; it is not shown.$/,
    )
    put('sparse', 'x'.repeat(10_000))
    truncateSync(join(worktree, 'sparse'), 10 * 1024 ** 3)
    expect(await tools.text('read_file', { path: 'sparse' })).toContain('only the first 67108864 of 10737418240 bytes')
    expect(await tools.call('edit_file', { path: 'sparse', old_string: 'x', new_string: 'y' })).toMatchObject({
      isError: true,
    })
  })

  test('case 42: a file that grows while it is read is read to where it ended when that began', async () => {
    put('grows.log', '')
    const id = /bg_\d+/.exec(await tools.text('bash', { command: 'yes growing >> grows.log', background: true }))?.[0]
    await expect.poll(() => statSync(join(worktree, 'grows.log')).size, patience).toBeGreaterThan(0)
    const text = await tools.text('read_file', { path: 'grows.log', offset: 100_000_000 })
    await tools.text('background', { action: 'kill', id })

    expect(text).toMatch(/none from line 100000000 on/)
  })

  test('case 41: a pipe, a device, a folder and a link that leads to itself are refused at once', async () => {
    execFileSync('/usr/bin/mkfifo', [join(worktree, 'pipe')])
    symlinkSync('loop', join(worktree, 'loop'))
    symlinkSync('/dev/zero', join(worktree, 'zero'))
    mkdirSync(join(worktree, 'folder'))
    for (const path of ['pipe', 'loop', 'zero', '/dev/zero', 'folder', 'missing', 'a\0b']) {
      expect([path, await tools.call('read_file', { path })]).toMatchObject([path, { isError: true }])
      expect([path, await tools.call('edit_file', { path, old_string: 'a', new_string: 'b' })]).toMatchObject([
        path,
        { isError: true },
      ])
    }
    expect(await tools.call('write_file', { path: 'pipe', content: 'x' })).toMatchObject({ isError: true })
    expect(await tools.call('search', { pattern: 'x', path: 'pipe' })).toMatchObject({ isError: true })
  })

  test('case 41: no expression and no glob takes long', async () => {
    put('evil.txt', `${'a'.repeat(100_000)}!\n`)
    for (let index = 0; index < 200; index += 1) put(`d${index % 10}/e${index % 7}/f${index}.txt`, 'text')
    symlinkSync('..', join(worktree, 'd1/up'))

    expect(await tools.text('search', { pattern: '^(a+)+$' })).toBe('Nothing matches.')
    expect(await tools.text('search', { pattern: '(a|aa)+$', mode: 'files' })).toBe('Nothing matches.')
    const all = await tools.text('list_files', { pattern: '**/**/**' })
    expect(all.split('\n')).toHaveLength(201)
  })

  test('write_file creates folders, says what it did, and keeps the mode of what it replaces', async () => {
    expect(await tools.text('write_file', { path: 'a/b/c.txt', content: 'new ä' })).toBe('Created a/b/c.txt (6 bytes).')
    expect(readFileSync(join(worktree, 'a/b/c.txt'), 'utf8')).toBe('new ä')
    put('run.sh', 'old')
    chmodSync(join(worktree, 'run.sh'), 0o775)
    expect(await tools.text('write_file', { path: 'run.sh', content: 'new' })).toBe('Replaced run.sh (3 bytes).')
    expect(statSync(join(worktree, 'run.sh')).mode & 0o777).toBe(0o775)
    expect(readdirSync(worktree).sort()).toEqual(['a', 'run.sh'])
    expect(await tools.call('write_file', { path: 'run.sh/x', content: '' })).toMatchObject({ isError: true })
    expect(await tools.call('write_file', { path: 'a', content: '' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('a is a folder'),
    })
  })

  test('write_file shows a file that it has not finished only under the name of a draft', async () => {
    const written = tools.text('write_file', { path: 'large.txt', content: 'x'.repeat(4 << 20) })
    const seen = new Set<string>()
    const look = () => {
      for (const name of readdirSync(worktree)) if (name.includes('draft') || name.includes('large')) seen.add(name)
    }
    const clock = setInterval(look, 0)
    await written
    clearInterval(clock)
    look()

    expect([...seen].filter((name) => name !== 'large.txt' && !name.startsWith('.matrix-draft-'))).toEqual([])
    expect(readdirSync(worktree).filter((name) => name.startsWith('.matrix-draft-'))).toEqual([])
  })

  test('write_file writes through a link that stays inside', async () => {
    put('real.txt', 'old')
    symlinkSync('real.txt', join(worktree, 'link.txt'))
    await tools.text('write_file', { path: 'link.txt', content: 'new' })

    expect(readFileSync(join(worktree, 'real.txt'), 'utf8')).toBe('new')
    expect(readdirSync(worktree).sort()).toEqual(['link.txt', 'real.txt'])
  })

  test('edit_file replaces exactly one match, and counts them if there are more or none', async () => {
    put('a.ts', 'one\ntwo\none\nthree\n')
    expect(await tools.call('edit_file', { path: 'a.ts', old_string: 'one', new_string: '1' })).toEqual({
      isError: true,
      text: 'Found 2 matches in a.ts, on lines 1, 3.\nGive more of the text around the one that is meant, or set replace_all.',
    })
    expect(await tools.text('edit_file', { path: 'a.ts', old_string: 'two\none', new_string: "$&$1$'" })).toBe(
      'Replaced 1 match in a.ts, on line 2.',
    )
    expect(readFileSync(join(worktree, 'a.ts'), 'utf8')).toBe("one\n$&$1$'\nthree\n")
    expect(await tools.call('edit_file', { path: 'a.ts', old_string: 'four', new_string: '4' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('Found 0 matches in a.ts.'),
    })
    const all = { path: 'a.ts', old_string: 'e', new_string: 'E', replace_all: true }
    expect(await tools.text('edit_file', all)).toBe('Replaced 3 matches in a.ts, on line 1, 3, 3.')
  })

  test('edit_file keeps line endings and refuses what is no UTF-8', async () => {
    put('dos.txt', '\uFEFFone\r\ntwo\r\n')
    await tools.text('edit_file', { path: 'dos.txt', old_string: 'two', new_string: 'zwei' })
    expect(readFileSync(join(worktree, 'dos.txt'), 'utf8')).toBe('\uFEFFone\r\nzwei\r\n')
    put('latin.txt', Buffer.from('caf\xe9 one', 'latin1'))
    expect(await tools.call('edit_file', { path: 'latin.txt', old_string: 'one', new_string: '1' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('not UTF-8'),
    })
  })

  test('list_files follows globs and .gitignore, and leaves out what is hidden unless asked', async () => {
    for (const path of ['src/a.ts', 'src/a.test.ts', 'src/deep/b.ts', 'dist/a.js', '.env', 'README.md']) put(path, '')
    put('.gitignore', 'dist/\n')

    expect(await tools.text('list_files', {})).toBe('README.md\nsrc/a.test.ts\nsrc/a.ts\nsrc/deep/b.ts')
    put('.git/config', '')
    expect(await tools.text('list_files', { pattern: '*.test.ts' })).toBe('src/a.test.ts')
    expect(await tools.text('list_files', { pattern: 'src/*.ts' })).toBe('src/a.test.ts\nsrc/a.ts')
    expect(await tools.text('list_files', { path: 'src/deep' })).toBe('src/deep/b.ts')
    expect(await tools.text('list_files', { hidden: true, ignored: true })).toBe(
      '.env\n.gitignore\nREADME.md\ndist/a.js\nsrc/a.test.ts\nsrc/a.ts\nsrc/deep/b.ts',
    )
    expect(await tools.text('list_files', { limit: 2 })).toBe(
      'README.md\nsrc/a.test.ts\n[results 1 to 2; there are more: narrow it, or continue with offset 2]',
    )
    expect(await tools.text('list_files', { pattern: '*.py' })).toBe('No files match.')
    expect(await tools.call('list_files', { pattern: '{a' })).toMatchObject({ isError: true })
  })

  test('search gives lines, files or counts', async () => {
    put('a.ts', 'const one = 1\nconst two = 2\n// One\n')
    put('b/c.ts', 'let one\n')
    put('b/d.md', 'one and one\n')

    expect(await tools.text('search', { pattern: 'one' })).toBe(
      'a.ts:1:const one = 1\nb/c.ts:1:let one\nb/d.md:1:one and one',
    )
    expect(await tools.text('search', { pattern: 'one', glob: '*.ts', mode: 'files' })).toBe('a.ts\nb/c.ts')
    expect(await tools.text('search', { pattern: 'ONE', ignore_case: true, mode: 'count' })).toBe(
      'a.ts:2\nb/c.ts:1\nb/d.md:2',
    )
    expect(await tools.text('search', { pattern: 'two', path: 'a.ts', context: 1 })).toBe(
      'a.ts-1-const one = 1\na.ts:2:const two = 2\na.ts-3-// One',
    )
    expect(await tools.text('search', { pattern: '= 1\nconst', multiline: true, mode: 'files' })).toBe('a.ts')
    expect(await tools.text('search', { pattern: 'a.b(', literal: true })).toBe('Nothing matches.')
    expect(await tools.call('search', { pattern: '(' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('unclosed group'),
    })
    expect(await tools.text('search', { pattern: '--pre=touch pwned' })).toBe('Nothing matches.')
  })

  test('a file of another place is not read or written through a link', async () => {
    const secret = join(base, `secret-${kind}`)
    writeFileSync(secret, 'canary')
    symlinkSync(secret, join(worktree, 'link'))
    symlinkSync(base, join(worktree, 'folder'))
    const paths = ['link', secret, `folder/secret-${kind}`, `../secret-${kind}`]
    for (const path of paths) {
      const read = await tools.call('read_file', { path })
      expect([path, read.text.includes('canary')]).toEqual([path, false])
    }
    expect((await tools.call('search', { pattern: 'canary', path: 'folder' })).text).not.toContain(':canary')
    expect((await tools.call('list_files', { path: 'folder' })).text).not.toContain('secret')
    for (const path of paths) {
      await tools.call('write_file', { path, content: 'written' })
      await tools.call('edit_file', { path, old_string: 'canary', new_string: 'edited' })
    }
    expect(readFileSync(secret, 'utf8')).toBe('canary')
  })

  function put(path: string, content: string | Buffer): void {
    const file = join(worktree, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    if (!identity || kind !== 'boxed') return
    for (let at = file; relative(worktree, at) !== ''; at = dirname(at)) lchownSync(at, identity.uid, identity.gid)
  }
})

describe('what outlives the tools', () => {
  let worktree: string
  beforeEach(() => {
    worktree = mkdtempSync(join(base, 'worktree-'))
    chmodSync(worktree, 0o755)
    if (identity) giveTree(worktree, identity)
  })

  test.each(connections)('%s: nothing, once their input ends', async (kind, connect) => {
    const tools = await connect(worktree)
    const mark = sleepFor(81 + kind.length)
    await tools.text('bash', { command: mark, background: true })
    await expect.poll(() => running(mark), patience).toBe(1)
    await tools.close()

    await expect.poll(() => running(mark), patience).toBe(0)
  })
})

test('outside of a box, what other programs obey is not written', async () => {
  const worktree = join(base, 'protected')
  mkdirSync(join(worktree, '.git'), { recursive: true })
  const tools = await connectUnboxed(worktree)

  for (const path of ['.git/config', '.mcp.json', '.vscode/settings.json'])
    expect(await tools.call('write_file', { path, content: 'x' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('is protected'),
    })
  await tools.close()
})

const boxedTest = test.runIf(sandbox.isBoxing)

boxedTest('boxed without write, files can be searched and not written', async () => {
  const worktree = join(base, 'read-only')
  mkdirSync(worktree)
  writeFileSync(join(worktree, 'a.txt'), 'needle')
  const tools = await connectBoxed(worktree, ['read'])

  expect(await tools.text('search', { pattern: 'needle' })).toBe('a.txt:1:needle')
  expect(await tools.text('list_files', {})).toBe('a.txt')
  expect(await tools.call('write_file', { path: 'b.txt', content: 'x' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('b.txt could not be written: it is read-only here.'),
  })
  expect(await tools.call('bash', { command: 'id' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('bash could not be started'),
  })
  await tools.close()
})

boxedTest(
  'no command reads or changes the memory, environment or open files of the tools that started it',
  async () => {
    const worktree = join(base, 'guarded')
    mkdirSync(worktree)
    if (identity) giveTree(worktree, identity)
    const tools = await connectBoxed(worktree)
    // A thread has a folder of its own, which is not listed.
    const thread = '$(ls /proc/$PPID/task | tail -n1)'
    const attempts = ['$PPID', '$PPID/task/$PPID', thread].flatMap((process) => [
      `dd if=/dev/zero of=/proc/${process}/mem bs=1 count=1 seek=4194304`,
      ...['maps', 'environ', 'auxv', 'fd/0', 'smaps'].map((file) => `head -c1 /proc/${process}/${file}`),
      `readlink -v /proc/${process}/exe`,
      `echo forged > /proc/${process}/fd/1`,
    ])
    for (const command of attempts)
      expect(`${command}: ${(await tools.call('bash', { command })).text}`).toContain('Permission denied')

    const held = await tools.text('bash', { command: 'grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status' })
    expect(held.match(/\t0+$/gm)).toHaveLength(4)
    await tools.close()
  },
)

boxedTest('boxed with a list of hosts, a command reaches them through the proxy and nothing else', async () => {
  const worktree = join(base, 'proxied')
  mkdirSync(worktree)
  const upstream = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 204 No Content\r\n\r\n'))
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done))
  const { port } = upstream.address() as { port: number }
  const tools = await connectBoxed(worktree, ['read', 'shell', 'network'], [`127.0.0.1:${port}`])
  const ask = (target: string) =>
    tools.text('bash', {
      command: `exec 3<>/dev/tcp/127.0.0.1/${EGRESS_PORT}; printf 'CONNECT ${target} HTTP/1.1\\r\\n\\r\\n' >&3; head -n1 <&3`,
    })

  expect(await ask(`127.0.0.1:${port}`)).toContain('200')
  expect(await ask('192.0.2.1:443')).toContain('403')
  expect(await tools.text('bash', { command: `(: < /dev/tcp/127.0.0.1/${port}) 2>&1 | grep -om1 refused` })).toBe(
    'refused',
  )
  await tools.close()
  upstream.close()
})

type Result = { isError: boolean; text: string }
type Tools = {
  client: Client
  call(name: string, args: Record<string, unknown>): Promise<Result>
  /** The text of a call that has to succeed. */
  text(name: string, args: Record<string, unknown>): Promise<string>
  close(): Promise<void>
}

async function connectUnboxed(root: string): Promise<Tools> {
  const args = [serverFile, '--root', root]
  return connectOver(new StdioClientTransport({ command: process.execPath, args }))
}

async function connectBoxed(
  root: string,
  sideEffects: readonly ('read' | 'write' | 'shell' | 'network')[] = everything,
  hosts?: string[],
): Promise<Tools> {
  const launch = await builtinLaunch({ root, sideEffects, serverFile, version: '1.2.3', hosts })
  return connectOver(programTransport(() => sandbox.spawn(launch)))
}

async function connectOver(transport: Parameters<Client['connect']>[0]): Promise<Tools> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport)
  const call: Tools['call'] = async (name, args) => {
    const { content, isError } = await client.callTool({ name, arguments: args })
    return { isError: isError === true, text: (content as { text: string }[])[0]?.text ?? '' }
  }
  return {
    client,
    call,
    async text(name, args) {
      const { isError, text } = await call(name, args)
      if (isError) throw new Error(text)
      return text
    },
    close: () => client.close(),
  }
}

/** A picture of one colour that says how large it is, and may lie. */
function pngOf(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([1, 0, 0, 0, 0], 8)
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
  }
  const parts = [chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.alloc(8))), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts])
}

/** A command that nobody else on the machine runs. */
function sleepFor(seconds: number): string {
  return `sleep ${seconds}.${process.pid}`
}

function running(command: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${command.replace(' ', '\0')}\0`
    } catch {
      return false
    }
  }).length
}
