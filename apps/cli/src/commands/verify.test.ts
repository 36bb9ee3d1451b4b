import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { folderWith, goodManifest, manifestText, matrix } from '../matrix-process.testing.ts'

const unpinned = manifestText({ args: ['-y', '@modelcontextprotocol/server-filesystem', '/workspace'] })

test('a good manifest passes, and it is said that the check was static', async () => {
  const { code, stdout } = await matrix(['verify', '--offline', 'a.json'], {
    cwd: folderWith({ 'a.json': goodManifest }),
  })

  expect(code).toBe(0)
  expect(stdout).toContain('✔ a.json  Matrix manifest v1, 1 server, 1 tool')
  expect(stdout).toContain('Static check only: no server was started')
})

test('a finding is shown with its rule, its place, the line of the file and the fix', async () => {
  const { code, stdout } = await matrix(['verify', '--offline', 'a.json'], { cwd: folderWith({ 'a.json': unpinned }) })

  expect(code).toBe(1)
  expect(stdout).toContain('error MX007 (Q17)  "fs" is version 2026.8.31')
  expect(stdout).toContain('at a.json:14:9')
  expect(stdout).toMatch(/14 │ {9}"@modelcontextprotocol\/server-filesystem",\n\s+│ {9}\^{41}\n/)
  expect(stdout).toContain('fix: Write the version into the argument')
})

test('a directory is searched, and JSON that is none of ours is passed over', async () => {
  const cwd = folderWith({ 'a.json': goodManifest, 'package.json': '{"name":"x"}', 'bad.json': unpinned })
  mkdirSync(join(cwd, 'deep'))
  writeFileSync(join(cwd, 'deep/b.json'), goodManifest)
  const { code, stdout } = await matrix(['verify', '--offline', '.'], { cwd })

  expect(code).toBe(1)
  expect(stdout).toContain('3 files checked: 1 error, 0 warnings.')
  expect(stdout).toContain('1 other file passed over.')
})

test('a quoted glob is matched, and one that matches nothing is a usage error', async () => {
  const cwd = folderWith({ 'a.json': goodManifest, 'b.json': goodManifest, 'c.txt': '' })

  expect((await matrix(['verify', '--offline', '*.json'], { cwd })).stdout).toContain('2 files checked')
  expect(await matrix(['verify', '--offline', '*.yaml'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Nothing matches *.yaml.'),
  })
})

test('standard input is read when the file is -', async () => {
  const { code, stdout } = await matrix(['verify', '--offline', '-'], { input: unpinned })

  expect(code).toBe(1)
  expect(stdout).toContain('at standard input:14:9')
})

test('a file that is missing, a directory, a pipe, a device or too large is an error of one sentence, at once', async () => {
  const cwd = folderWith({ 'large.json': Buffer.alloc(50 * 1024 * 1024, 32) })
  execFileSync('mkfifo', [join(cwd, 'pipe.json')])
  const messages: Record<string, string> = {
    'missing.json': 'missing.json does not exist.',
    'pipe.json': 'pipe.json is not a regular file.',
    'large.json': 'large.json has 52428800 bytes or more; at most 4194304 are read.',
    '/dev/zero': '/dev/zero is not a regular file.',
  }

  for (const [file, message] of Object.entries(messages)) {
    const { code, stderr } = await matrix(['verify', '--offline', file], { cwd })
    expect({ code, message: stderr.split('\n')[0] }).toEqual({ code: 2, message: `error: ${message}` })
  }
})

test('a file without end is given up at the limit, whatever size it claims', async () => {
  const { code, stderr } = await matrix(['verify', '--offline', '/proc/self/pagemap'])

  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/\/proc\/self\/pagemap (has|cannot)/) })
})

test('one unreadable file hides nothing that the others hold', async () => {
  const cwd = folderWith({ 'a.json': unpinned })
  const { code, stdout, stderr } = await matrix(['verify', '--offline', 'a.json', 'gone.json'], { cwd })

  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('gone.json does not exist.') })
  expect(stdout).toContain('MX007')
  expect(
    JSON.parse((await matrix(['verify', '--offline', '--json', 'a.json', 'gone.json'], { cwd })).stdout),
  ).toMatchObject({ ok: false, unreadable: [{ code: 'DOCUMENT_UNREADABLE' }], files: [{ file: 'a.json' }] })
})

test('no credential is printed, neither where it is found nor on the line of another finding', async () => {
  const secret = 'ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
  const minified = JSON.stringify({
    ...JSON.parse(manifestText({ env: [`GITHUB_TOKEN=${secret}`], args: ['--api-key', secret] })),
    typo: 1,
  })
  const cwd = folderWith({
    'a.json': manifestText({ env: { GITHUB_TOKEN: secret, PASSWORD: 'correcthorse' }, args: ['--api-key', secret] }),
    'minified.json': minified,
    'broken.json': `{ "env": { "GITHUB_TOKEN": "${secret}" "x": 1 } }`,
    'broken.toml': `[mcp_servers.a]\nenv = { GITHUB_TOKEN = "${secret}", PASSWORD = 'correcthorse' x }\n`,
    'config.toml': `[mcp_servers.a]\ncommand = "npx"\nargs = ["a"]\nenv = { GITHUB_TOKEN = "${secret}" }\n`,
  })
  for (const file of ['a.json', 'minified.json', 'broken.json', 'broken.toml', 'config.toml'])
    for (const flags of [[], ['--json'], ['--sarif'], ['--github']]) {
      const { stdout, stderr } = await matrix(['verify', '--offline', ...flags, file], { cwd })
      expect(stdout.length, file).toBeGreaterThan(0)
      expect(stdout + stderr, `${file} ${flags}`).not.toMatch(/ABCDEFGH|correcthorse/)
    }
})

test('a linked manifest in a directory is checked, and other programs’ JSON with comments is passed over', async () => {
  const cwd = folderWith({
    'tsconfig.json': '{ // how\n "compilerOptions": {}, }',
    'settings.json': '{"theme": "dark"}',
    'huge.json': Buffer.alloc(5 * 1024 * 1024, 32),
  })
  mkdirSync(join(cwd, 'agents'))
  writeFileSync(join(cwd, 'elsewhere.txt'), unpinned)
  symlinkSync('../elsewhere.txt', join(cwd, 'agents/link.json'))
  const { code, stdout } = await matrix(['verify', '--offline', '.'], { cwd })

  expect(code).toBe(1)
  expect(stdout).toContain('1 file checked: 1 error')
  expect(stdout).toContain('3 other files passed over.')
})

test('the settings of other programs in a directory are found and checked', async () => {
  const token = ['ghp', 'A'.repeat(36)].join('_')
  const cwd = folderWith({
    '.mcp.json': `{"mcpServers": {"a": {"command": "npx",\n"args": ["-y", "a@1.0.0"],\n"env": {"GITHUB_TOKEN": "${token}"}}}}`,
    'pyproject.toml': '[tool.x]\nname = "x"\n',
    'broken.toml': '[tool.x\n',
    'notes.md': '# Notes\n',
  })
  mkdirSync(join(cwd, '.codex'))
  writeFileSync(join(cwd, '.codex/config.toml'), '[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "a"]\n')
  writeFileSync(join(cwd, 'outside.json'), goodManifest)
  mkdirSync(join(cwd, 'linked'))
  symlinkSync('../outside.json', join(cwd, 'linked/out.json'))
  const { code, stdout } = await matrix(['verify', '--offline', '.'], { cwd })

  expect(code).toBe(1)
  expect(stdout).toMatch(/error MX008.*\n\s+at \.mcp\.json:3:\d+/)
  expect(stdout).toMatch(/warning MX007.*\n\s+at \.codex\/config\.toml:3:\d+/)
  expect(stdout).not.toContain(token)
  expect(stdout).toContain('2 other files passed over.')
  expect((await matrix(['verify', '--offline', 'linked'], { cwd })).stdout).toContain('Nothing to verify was found.')
  expect((await matrix(['verify', '--offline', 'notes.md'], { cwd })).stdout).toContain('This is Markdown')
})

test('what a glob names must be ours, so that a misspelt manifest does not pass', async () => {
  const cwd = folderWith({ 'a.json': goodManifest, 'b.json': '{"schema-version": 1, "server": []}' })

  expect((await matrix(['verify', '--offline', '*.json'], { cwd })).code).toBe(1)
})

test('bad bytes are findings, never a stack trace', async () => {
  const bad: Record<string, string | Uint8Array> = {
    'empty.json': '',
    'bom.json': `\uFEFF${goodManifest}`,
    'utf8.json': Buffer.from([0x7b, 0xff, 0x7d]),
    'comma.json': goodManifest.replace(/\n\}$/, ',\n}'),
    'deep.json': '['.repeat(100_000),
    'proto.json': `{"__proto__": {"x": 1}, ${goodManifest.slice(1)}`,
    'twice.json': `{"agent": "matrix://agent/b", ${goodManifest.slice(1)}`,
    'other.json': '{"hello": "world"}',
    'scalar.json': '42',
  }
  const cwd = folderWith(bad)
  for (const file of Object.keys(bad)) {
    const { code, stdout, stderr } = await matrix(['verify', '--offline', file], { cwd })
    expect({ file, code, stderr }).toEqual({ file, code: 1, stderr: '' })
    expect(stdout).toMatch(/error MX0(01|22)/)
  }
})

test('--json prints one document with every finding, and nothing else', async () => {
  const { code, stdout } = await matrix(['verify', '--offline', '--json', 'a.json'], {
    cwd: folderWith({ 'a.json': unpinned }),
  })

  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    verified: 'static',
    errors: 1,
    files: [
      {
        file: 'a.json',
        format: 'matrix',
        digest: expect.stringMatching(/^sha256:/),
        findings: [{ rule: 'MX007', locked: 'Q17', line: 14, column: 9, pointer: '/servers/0/args/1' }],
      },
    ],
  })
})

test('--strict makes warnings fail, --bootstrap lets placeholders pass', async () => {
  const cwd = folderWith({
    'typo.json': manifestText({}, { descripton: '' }),
    'zero.json': manifestText({ package_digest: `sha256:${'0'.repeat(64)}` }),
  })
  const run = async (...args: string[]) => (await matrix(['verify', '--offline', ...args], { cwd })).code

  expect([await run('typo.json'), await run('--strict', 'typo.json')]).toEqual([0, 1])
  expect([await run('zero.json'), await run('--bootstrap', 'zero.json')]).toEqual([1, 0])
})

test('--check-env finds references that are not set', async () => {
  const cwd = folderWith({ 'a.json': manifestText({ env: ['A=$env:MATRIX_TEST_A'] }) })

  expect(await matrix(['verify', '--offline', '--check-env', 'a.json'], { cwd })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('MATRIX_TEST_A is not set'),
  })
  expect(
    (await matrix(['verify', '--offline', '--check-env', 'a.json'], { cwd, env: { MATRIX_TEST_A: 'x' } })).code,
  ).toBe(0)
})

test('the tools of a skill are checked, and held against a manifest when one is given', async () => {
  const skill =
    '§SKILL\nread\n§TOOLS\nmatrix://tool/mcp/fs/read_text_file@2026.8.31\nmatrix://tool/mcp/fs/gone@2026.8.31\n'
  const cwd = folderWith({ 'SKILL.mtx': skill, 'bare.mtx': skill.replaceAll('@2026.8.31', ''), 'a.json': goodManifest })

  expect((await matrix(['verify', '--offline', 'SKILL.mtx'], { cwd })).stdout).toContain('Skill, 2 tool URIs')
  expect(await matrix(['verify', '--offline', '--manifest', 'a.json', 'SKILL.mtx'], { cwd })).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/MX016 \(Q17\).*SKILL\.mtx:5:1/s),
  })
  expect(await matrix(['verify', '--offline', 'bare.mtx'], { cwd })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('MX015 (Q17)'),
  })
})

test('the shipped manifests pass', async () => {
  const agents = fileURLToPath(new URL('../../../../agents', import.meta.url))
  const { code, stdout } = await matrix(['verify', '--offline', '--strict', agents])

  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('8 files checked') })
})

test('text from a manifest reaches no terminal as an escape', async () => {
  const evil = '##[set-output name=a]b\u001b]0;owned\u0007\u001b[31m\u202E\r\n::error::x'
  const cwd = folderWith({
    'a.json': manifestText({
      alias: evil,
      version: evil,
      [evil]: 1,
      env: [`${evil}=1`],
      tools: [{ name: evil, description: evil, side_effect_class: evil }],
    }),
  })
  for (const flags of [[], ['--json'], ['--sarif'], ['--github']]) {
    const { stdout, stderr } = await matrix(['verify', '--offline', ...flags, 'a.json'], { cwd })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the bytes that must not appear
    expect(stdout + stderr, flags.join()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
    expect(stdout + stderr).not.toContain('##[')
    expect(
      stdout
        .split('\n')
        .filter((line) => line.startsWith('::') && !/^::(error|warning|notice) file=a\.json,/.test(line)),
    ).toEqual([])
  }
})

test('a credential that is the name of a field is shown nowhere', async () => {
  const token = `ghp_${'a1'.repeat(18)}`
  const cwd = folderWith({
    'a.json': goodManifest.replace('"agent":', `"${token}": 1,\n"agent":`),
    'twice.json': `{"name": "a",\n"${token}": 1,\n"${token}": 2}`,
  })
  for (const form of [[], ['--json'], ['--sarif'], ['--github']]) {
    const { code, stdout, stderr } = await matrix(['verify', '--offline', ...form, 'a.json', 'twice.json'], { cwd })
    expect(code).toBe(1)
    expect(stdout + stderr).not.toContain(token)
  }
})
