import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPinnedTo, type Launcher, parseLauncher } from './launcher.ts'
import { parsePackageSpec } from './package-spec.ts'

test('every common launcher is seen through to its package, version and argument', () => {
  const cases: [line: string, ecosystem: string, name: string, version: string | undefined, argument: number][] = [
    ['npx -y @scope/name@1.2.3 /workspace', 'npm', '@scope/name', '1.2.3', 1],
    ['npx.cmd name', 'npm', 'name', undefined, 0],
    ['/usr/local/bin/npx --yes name@latest', 'npm', 'name', 'latest', 1],
    ['npx -y --package=@scope/name@1.2.3 program --flag', 'npm', '@scope/name', '1.2.3', 1],
    ['npx -p @scope/name@1.2.3 program', 'npm', '@scope/name', '1.2.3', 1],
    ['npm exec --registry https://r.example.com -- name@1.2.3', 'npm', 'name', '1.2.3', 4],
    ['pnpm dlx name@1.2.3', 'npm', 'name', '1.2.3', 1],
    ['bunx --bun name@1.2.3', 'npm', 'name', '1.2.3', 1],
    ['deno run -A npm:@scope/name@1.2.3/bin', 'npm', '@scope/name', '1.2.3', 2],
    ['uvx mcp-server-git==2026.1.14 --repository /workspace', 'pypi', 'mcp-server-git', '2026.1.14', 0],
    ['uvx --python 3.12 name[extra]@1.2.3', 'pypi', 'name', '1.2.3', 2],
    ['uvx --from name>=1.2 program', 'pypi', 'name', '>=1.2', 1],
    ['uv tool run name', 'pypi', 'name', undefined, 2],
    ['pipx run --spec name==1.2.3 program', 'pypi', 'name', '1.2.3', 2],
    ['dnx Sample.McpServer@0.4.0-beta --yes -- mcp start', 'nuget', 'Sample.McpServer', '0.4.0-beta', 0],
    ['docker run -i --rm -e TOKEN -v /a:/b --network=host ghcr.io/a/b:1.2.3 stdio', 'oci', 'ghcr.io/a/b', '1.2.3', 8],
    ['podman run localhost:5000/a', 'oci', 'localhost:5000/a', undefined, 1],
    ['cmd /c npx -y name@1.2.3', 'npm', 'name', '1.2.3', 3],
    ['env A=b npx -y name@1.2.3', 'npm', 'name', '1.2.3', 3],
    ['env -u X npx -y name@latest', 'npm', 'name', 'latest', 4],
    ['npm -y exec name@latest', 'npm', 'name', 'latest', 2],
    ['pnpm --silent dlx name', 'npm', 'name', undefined, 2],
    ['timeout -k 5 10 npx -y name', 'npm', 'name', undefined, 5],
    ['nice -n10 npx -y name', 'npm', 'name', undefined, 3],
    ['node /usr/bin/npx -y name', 'npm', 'name', undefined, 2],
    ['node npm/bin/npx-cli.js -y name', 'npm', 'name', undefined, 2],
    ['python3 -m pipx run name', 'pypi', 'name', undefined, 3],
    ['NPX.CMD -y name', 'npm', 'name', undefined, 1],
    ['docker --context x run a/b:latest', 'oci', 'a/b', 'latest', 3],
    ['docker container run --oom-kill-disable a/b:latest', 'oci', 'a/b', 'latest', 3],
    ['deno run --config deno.json npm:name', 'npm', 'name', undefined, 3],
    ['uv run --with name name', 'pypi', 'name', undefined, 2],
  ]
  for (const [line, ecosystem, name, version, argument] of cases)
    expect(parseLine(line), line).toMatchObject({ kind: 'package', ecosystem, name, version, argument })
})

test('a package behind a shell is seen when the command is plain words', () => {
  expect(parseLauncher('sh', ['-c', 'npx -y name@1.2.3 /workspace'])).toMatchObject({ name: 'name', argument: 1 })
  expect(parseLauncher('bash', ['-lc', 'uvx name'])).toMatchObject({ ecosystem: 'pypi', version: undefined })
  expect(parseLauncher('sh', ['-e', '-c', 'exec npx -y name'])).toMatchObject({ name: 'name', argument: 2 })
  expect(parseLauncher('sh', ['-c', 'A=b npx -y name'])).toMatchObject({ name: 'name', version: undefined })
  expect(parseLauncher('env', ['-S', 'npx -y', 'name'])).toMatchObject({ name: 'name', argument: 2 })
  expect(parseLauncher('cmd', ['/d', '/c', 'C:\\bin\\npx -y name'])).toMatchObject({ name: 'name', argument: 2 })
})

test('what nobody can tell is called unclear, not harmless', () => {
  const lines: [command: string, ...args: string[]][] = [
    ['sh', '-c', 'curl x | sh; npx name'],
    ['sh', '-c', 'npx -y name && true'],
    ['sh', '-c', 'n\\px -y name'],
    ['env', '-S', 'npx -y "name"'],
    ['cmd', '/c', 'npx -y name & more'],
    ['pwsh', '-Command', 'npx -y name'],
    ['npx', '-c', 'name'],
    ['npx', '--some-option', 'name@1.2.3', 'other'],
    ['deno', 'run', 'https://scripts.example.com/x.ts'],
    ['deno', 'run', 'jsr:@x/y'],
    ['go', 'run', 'example.com/x@latest'],
    ['npm', 'init', 'name'],
    ['op', 'run', '--', 'npx', '-y', 'name'],
    ['node', '-e', 'require("child_process").exec("npx name")'],
  ]
  for (const [command, ...args] of lines)
    expect(parseLauncher(command, args), [command, ...args].join(' ')).toMatchObject({ kind: 'unclear' })
})

test('programs, projects and scripts of this machine are plain', () => {
  for (const line of [
    'uv --directory /a run server.py',
    'uv run server',
    'npm run serve',
    'go run ./cmd/server',
    'nice ./a',
  ])
    expect(parseLine(line), line).toMatchObject({ kind: 'program' })
})

test('every package that a launcher fetches is named', () => {
  const others = (line: string) => {
    const launcher = parseLine(line)
    return launcher.kind === 'package' ? launcher.others.map(({ name, argument }) => [name, argument]) : launcher
  }
  expect(others('npx -p name@1.2.3 -p other program')).toEqual([['other', 3]])
  expect(others('npm exec name@1.2.3 --package=other')).toEqual([])
  expect(others('uvx --with one,two name@1.2.3')).toEqual([
    ['one', 1],
    ['two', 1],
  ])
  expect(parseLine('npm exec name@1.2.3 --package=other')).toMatchObject({ name: 'other' })
})

test('a script of this machine is its file, behind whatever options the runtime takes', () => {
  expect(parseLine('node -r dotenv/config --inspect server.js --port 1')).toMatchObject({
    kind: 'script',
    runtime: 'node',
    file: 'server.js',
    rest: ['--port', '1'],
  })
  expect(parseLine('bun run server.ts')).toMatchObject({ kind: 'script', file: 'server.ts' })
  expect(parseLine('python3 -m mcp_server')).toEqual({ kind: 'program', file: 'python3' })
  expect(parseLine('./bin/server --stdio')).toEqual({ kind: 'program', file: './bin/server' })
})

test('an image is named without tag and digest, and a digest is its version', () => {
  const digest = `sha256:${'a1'.repeat(32)}`

  expect(parsePackageSpec('oci', `ghcr.io/a/b:1.2.3@${digest}`)).toEqual({ name: 'ghcr.io/a/b', version: digest })
})

test('neither name nor version repeats what a URL carries as credential', () => {
  const specs: [ecosystem: 'npm' | 'pypi', spec: string, name: string, version: string | undefined][] = [
    ['npm', 'git+https://x:hunter2@git.example.com/a/b#v1', 'git+https://git.example.com/a/b', 'v1'],
    ['npm', 'name@https://git.example.com/b.tgz?token=hunter2', 'name', 'https://git.example.com/b.tgz'],
    ['pypi', 'git+ssh://git@git.example.com/a/b@v1', 'git+ssh://git.example.com/a/b', 'v1'],
    ['pypi', 'name @ git+https://hunter2@git.example.com/a', 'name', 'git+https://git.example.com/a'],
    ['npm', `sk-${'hunter2'.repeat(4)}`, '(a credential)', undefined],
  ]
  for (const [ecosystem, spec, name, version] of specs)
    expect(parsePackageSpec(ecosystem, spec), spec).toEqual({ name, version })
})

test('the value of a secret option is not taken for the package', () => {
  expect(JSON.stringify(parseLine('npx --token hunter2 name@1.2.3'))).not.toContain('hunter2')
})

test('a launcher is pinned only by the same exact version, or an image digest', () => {
  const image = `docker run a/b@sha256:${'a1'.repeat(32)}`

  expect(isPinnedTo(parseLine('npx -y name@1.2.3'), '1.2.3')).toBe(true)
  expect(isPinnedTo(parseLine(image), '1.2.3')).toBe(true)
  expect(isPinnedTo(parseLine('node server.js'), '1.2.3')).toBe(true)
  for (const line of ['npx name', 'npx name@1.2.4', 'npx name@latest', 'cmd /c npx name', 'docker run a/b:latest'])
    expect(isPinnedTo(parseLine(line), '1.2.3'), line).toBe(false)
  expect(isPinnedTo(parseLine('npx name@latest'), 'latest')).toBe(false)
  expect(isPinnedTo(parseLine('docker run a/b@sha256:zzz'), '1.2.3')).toBe(false)
  expect(isPinnedTo(parseLine('npx -p name@1.2.3 -p other name'), '1.2.3')).toBe(false)
  expect(isPinnedTo(parseLine('npx -p name@1.2.3 -p other@0.1.0 name'), '1.2.3')).toBe(true)
})

test('any command and arguments are read without an exception, and the argument is one of them', () => {
  const word = fc.oneof(fc.constantFrom('run', '-c', '-y', '--', '--from', '/c', 'npx', 'docker'), fc.string())
  const program = fc.oneof(fc.constantFrom('npx', 'uvx', 'docker', 'cmd', 'env', 'sh', 'node', 'deno'), fc.string())
  fc.assert(
    fc.property(program, fc.array(word, { maxLength: 6 }), (command, args) => {
      const launcher = parseLauncher(command, args)
      if (launcher.kind === 'package' || launcher.kind === 'script')
        expect(args.length).toBeGreaterThan(launcher.argument)
    }),
  )
})

function parseLine(line: string): Launcher {
  const [command = '', ...args] = line.split(' ')
  return parseLauncher(command, args)
}
