import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkAgentFormat } from '../agent-format/agent-format-check.ts'
import { importServers } from '../import/import.ts'
import { findInjectedCode } from './injected-code.ts'
import { checkManifest } from './manifest-check.ts'

const errors: [string, Record<string, string>?][] = [
  ['node --import data:text/javascript,evil server.mjs'],
  ['node --import=data:text/javascript,evil server.mjs'],
  ['node --require /workspace/x.js server.mjs'],
  ['node -r ./x.js server.mjs'],
  ['node -r dotenv/config server.mjs'],
  ['node --loader=ts-node/esm server.ts'],
  ['node --experimental-loader file:///workspace/l.mjs server.mjs'],
  ['node --no-warnings --import tsx server.ts'],
  ['/usr/local/bin/node -e process.exit'],
  ['node --eval=1'],
  ['node -p 1'],
  ['node -pe 1'],
  ['node --run start'],
  ['python3 -c print(1)'],
  ['python3.12 -Ic print(1)'],
  ['ruby -e 1'],
  ['ruby -r./x server.rb'],
  ['perl -Mlib=. -e 1'],
  ['php -r 1'],
  ['deno eval 1'],
  ['bun -e 1'],
  ['bun --preload ./x.ts server.ts'],
  ['tsx --import ./x.ts server.ts'],
  ['npx --node-options=--require=x.js -y a@1.0.0'],
  ['npx -y tsx@4.0.0 server.ts'],
  ['npx -y ts-node@10.0.0 /workspace/server.ts'],
  ['env NODE_OPTIONS=--import=data:x node server.mjs'],
  ['env -i LD_PRELOAD=./x.so /usr/bin/server'],
  ['timeout 10 node -r ./x.js server.mjs'],
  ['node server.mjs', { NODE_OPTIONS: '--require /workspace/x.js' }],
  ['node server.mjs', { NODE_OPTIONS: '--max-old-space-size=4096 --import=data:x' }],
  ['node server.mjs', { NODE_PATH: './node_modules' }],
  ['node server.mjs', { LD_PRELOAD: '/workspace/x.so' }],
  ['node server.mjs', { LD_LIBRARY_PATH: '/usr/lib:' }],
  ['python3 server.py', { PYTHONPATH: '/opt/x:.' }],
  ['python3 server.py', { PYTHONSTARTUP: 'x.py' }],
  ['bash server.sh', { BASH_ENV: '${workspaceFolder}/env.sh' }],
  ['bash server.sh', { 'BASH_FUNC_ls%%': '() { evil; }' }],
  ['sh server.sh', { ENV: './env.sh' }],
  ['perl s.pl', { PERL5OPT: '-Mlib=/workspace -Mevil' }],
  ['ruby s.rb', { RUBYOPT: '-r./evil' }],
  ['java -jar s.jar', { JAVA_TOOL_OPTIONS: '-javaagent:/workspace/a.jar' }],
  ['java -javaagent:./a.jar -jar s.jar'],
  ['./server', { DYLD_INSERT_LIBRARIES: './x.dylib/y' }],
  ['./server', { npm_config_script_shell: '/tmp/x' }],
  ['./server', { NPM_CONFIG_NODE_OPTIONS: '--x' }],
  ['./server', { GIT_SSH_COMMAND: 'sh -c evil' }],
  ['./server', { GIT_CONFIG_KEY_0: 'core.pager' }],
  ['./server', { PATH: '/workspace/bin:/usr/bin' }],
  ['./server', { PATH: 'node_modules/.bin:/usr/bin' }],
]

test.each(errors)('code in the launch, or where the agent writes, is an error: %s %j', (line, env = {}) => {
  expect(judge(line, env)).toContain('error')
})

test.each([
  ['sh', '-c', 'cd /srv && node server.mjs'],
  ['bash', '-lc', 'eval "$X"'],
  ['powershell', '-Command', 'x; y'],
  ['cmd', '/c', 'a & b'],
])('a text for a shell is an error: %s %s', (command, ...args) => {
  expect(findInjectedCode({ command, args, env: [] }).map(({ severity }) => severity)).toEqual(['error'])
})

const warnings: [string, Record<string, string>?][] = [
  ['node --require /opt/trace/register.js server.mjs'],
  ['node server.mjs', { NODE_OPTIONS: '--import file:///opt/trace/x.mjs' }],
  ['node server.mjs', { LD_LIBRARY_PATH: '/opt/cuda/lib64' }],
  ['python3 server.py', { PYTHONPATH: '/opt/server/src' }],
  ['python3 -m mcp_server_time'],
  ['java -jar s.jar', { JAVA_TOOL_OPTIONS: '-Xmx1g' }],
]

test.each(warnings)('code from elsewhere on the machine is a warning: %s %j', (line, env = {}) => {
  expect(judge(line, env)).toEqual(['warning'])
})

/** As the documentation of public servers has them. */
const plain: [string, Record<string, string>?][] = [
  ['npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /workspace'],
  ['npx -y @playwright/mcp@0.0.41 --headless --config=playwright.config.json'],
  ['npx -y mcp-remote@0.1.29 https://mcp.example.com/sse --header Authorization:x'],
  ['npx -y chrome-devtools-mcp@1.0.0 -e /usr/bin/chromium -c'],
  ['uvx --from git-server mcp-server-git --repository /workspace'],
  ['uvx mcp-server-fetch@2026.1.1'],
  ['uv --directory /opt/weather run weather.py'],
  ['docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server'],
  ['node /opt/server/dist/index.js --require-auth -r -e production'],
  ['node --max-old-space-size=4096 --env-file /etc/x.env server.js'],
  ['node --enable-source-maps --no-warnings dist/index.js'],
  ['python3 server.py -c config.toml'],
  ['deno run -A --config deno.json server.ts'],
  ['deno run -r --allow-net npm:@a/b@1.0.0'],
  ['cmd /c npx -y a@1.0.0'],
  ['sh -c npx'],
  ['bun run server.ts'],
  ['java -Xmx512m -jar server.jar'],
  ['./server', { NODE_ENV: 'production', ENV: 'production', PYTHONUNBUFFERED: '1', LOG_LEVEL: 'debug' }],
  ['./server', { PATH: '/usr/local/bin:/usr/bin:/bin', NODE_OPTIONS: '--max-old-space-size=8192' }],
  [
    './server',
    { GIT_AUTHOR_NAME: 'a', GIT_TERMINAL_PROMPT: '0', npm_config_yes: 'true', npm_config_loglevel: 'silent' },
  ],
  ['./server', { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_OPTIONS: '--dns-result-order=ipv4first' }],
  ['./server', { API_KEY: '$env:API_KEY', GITLAB_API_URL: 'https://gitlab.com/api/v4', PYTHONPATH: '' }],
]

test.each(plain)('what public servers are started with is no finding: %s %j', (line, env = {}) => {
  expect(judge(line, env)).toEqual([])
})

test('the worktree counts by its own path as well', () => {
  const found = (worktree?: string) =>
    findInjectedCode({ command: 'node', args: ['-r', '/home/me/wt/x.js', 's.js'], env: [], worktree })

  expect(found()).toMatchObject([{ severity: 'warning' }])
  expect(found('/home/me/wt')).toMatchObject([{ severity: 'error' }])
})

test('it is found in a manifest, in an agent of the Agent Format and at every import, at its place', () => {
  const entry = { command: 'node', args: ['--import', 'data:x', 's.mjs'], env: { NODE_OPTIONS: '-r ./x.js' } }
  const server = {
    alias: 'a',
    transport: 'stdio',
    version: '1.0.0',
    package_digest: `sha256:${'a1'.repeat(32)}`,
    ...entry,
  }
  const manifest = {
    schema_version: 1,
    agent: 'matrix://agent/a',
    allowed_side_effects: ['read'],
    servers: [{ ...server, tools: [{ name: 't', side_effect_class: 'read' }] }],
  }
  const places = (problems: readonly { rule: string; severity?: string; path: readonly unknown[] }[]) =>
    problems
      .filter(({ rule }) => rule === 'MX031')
      .map(({ severity, path }) => `${severity} ${path.join('.')}`)
      .sort()

  expect(places(checkManifest(manifest).problems)).toEqual([
    'error servers.0.args.0',
    'error servers.0.env.NODE_OPTIONS',
  ])
  const agent = { name: 'a', mcpServers: { a: entry }, tools: ['*'] }
  expect(places(checkAgentFormat(agent).problems)).toEqual([
    'error mcpServers.a.args.0',
    'error mcpServers.a.env.NODE_OPTIONS',
  ])
  for (const [value, path] of [
    [{ mcpServers: { a: entry } }, 'mcpServers.a'],
    [agent, 'mcpServers.a'],
    [{ servers: { a: { type: 'stdio', ...entry } } }, 'servers.a'],
    [
      {
        manifest_version: '0.3',
        name: 'a',
        version: '1.0.0',
        server: { type: 'node', entry_point: 's.mjs', mcp_config: entry },
      },
      'server.mcp_config',
    ],
  ] as const)
    expect(places(importServers(value).problems)).toEqual([`error ${path}.args.0`, `error ${path}.env.NODE_OPTIONS`])
})

test('whatever the words are, the answer names places that exist and none of the values', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('-r', '-e', '--import', 'data:x', 'sh', '-c', 'env', 'A=b', '--', 'run'),
  )
  const program = fc.constantFrom('node', 'python3', 'sh', 'env', 'npx', 'bun', 'deno', 'timeout', 'cmd', 'perl')
  fc.assert(
    fc.property(program, fc.array(word, { maxLength: 6 }), (command, args) => {
      for (const { field, step, what } of findInjectedCode({ command, args: [...args, 'SECRET-9'], env: [] })) {
        expect(field === 'args' ? Number(step) <= args.length : true).toBe(true)
        expect(what).not.toContain('SECRET-9')
      }
    }),
  )
})

function judge(line: string, env: Record<string, string>): string[] {
  const [command = '', ...args] = line.split(' ')
  const assignments = Object.entries(env).map(([name, value]) => ({ name, value }))
  return findInjectedCode({ command, args, env: assignments }).map(({ severity }) => severity)
}
