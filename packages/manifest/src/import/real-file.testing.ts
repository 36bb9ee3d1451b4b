/** A file in the form of one that was found in a public repository: what it is called, what it holds, and what a person would say of it. */
export type RealFile = [fileName: string, content: object | string, expected: string]

const npx = (...args: string[]) => ({ command: 'npx', args })
const servers = (entry: object, name = 'docs') => ({ mcpServers: { [name]: entry } })
const vscode = (entry: object, more: object = {}) => ({ ...more, servers: { docs: entry } })
const zed = (entry: object) => ({ theme: 'One Dark', context_servers: { docs: entry } })
const opencode = (entry: object) => ({ $schema: 'https://opencode.ai/config.json', mcp: { docs: entry } })
const registry = (more: object) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.example/docs',
  description: 'Searches documents.',
  version: '1.2.3',
  ...more,
})
const bundle = (server: object, more: object = {}) => ({
  manifest_version: '0.3',
  name: 'docs',
  version: '1.2.3',
  server,
  ...more,
})
const secret = 'hunter2correcthorse'

const claude: RealFile[] = [
  ['.mcp.json', servers(npx('-y', 'docs@latest', 'mcp')), 'mcp-client: MX007 warning'],
  ['.mcp.json', servers({ type: 'http', url: 'https://docs.example/mcp' }), 'mcp-client: nothing'],
  ['.mcp.json', servers({ command: 'aspire', args: ['agent', 'mcp'] }), 'mcp-client: nothing'],
  ['.mcp.json', servers({ ...npx('-y', 'docs@1.0.0'), env: { TENANT_ID: '${TENANT_ID}' } }), 'mcp-client: nothing'],
  [
    '.mcp.json',
    servers({ command: 'node', args: ['dist/index.js'], env: { API_KEY: '${API_KEY:-}' } }),
    'mcp-client: nothing',
  ],
  ['.mcp.json', servers({ type: 'sse', url: 'https://docs.example/sse' }), 'mcp-client: MX017 error'],
  [
    '.mcp.json',
    servers({ type: 'http', url: 'https://docs.example/mcp', headers: { Authorization: `Bearer ${secret}` } }),
    'mcp-client: MX008 error',
  ],
  [
    '.mcp.json',
    servers({ ...npx('-y', 'mcp-remote@0.1.37', `https://docs.example/mcp?apiKey=${secret}`) }),
    'mcp-client: MX008 error',
  ],
  [
    '.mcp.json',
    servers({ command: 'docker', args: ['run', '-i', '--rm', '-e', 'A_TOKEN', 'ghcr.io/example/docs'] }),
    'mcp-client: MX007 warning',
  ],
  ['.mcp.json', servers({ command: 'cmd', args: ['/c', 'npx', '-y', 'docs@1.0.0'] }), 'mcp-client: nothing'],
  [
    '.mcp.json',
    { 'docs-db': { command: '${CLAUDE_PLUGIN_ROOT}/servers/db', args: ['--config', '${CLAUDE_PLUGIN_ROOT}/c.json'] } },
    'mcp-client: nothing',
  ],
  ['.mcp.json', { mcpServers: {} }, 'mcp-client: nothing'],
  [
    'plugin.json',
    {
      name: 'docs',
      version: '1.0.0',
      mcpServers: { docs: { command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/server.js'] } },
    },
    'mcp-client: nothing',
  ],
  ['plugin.json', { name: 'docs', version: '1.0.0', mcpServers: './.mcp.json' }, 'mcp-client: nothing'],
  ['plugin.json', { name: 'docs', version: '1.0.0', description: 'Skills only.' }, 'unknown: MX001 error'],
  [
    'claude_desktop_config.json',
    servers({ ...npx('-y', 'docs'), env: { NOTION_TOKEN: 'ntn_****' } }),
    'mcp-client: MX007 warning',
  ],
  [
    'claude_desktop_config.json',
    servers({ ...npx('-y', 'docs@1.0.0'), env: { HEADERS: `{"Authorization": "Bearer ${secret}1"}` } }),
    'mcp-client: MX008 error',
  ],
  [
    'claude_desktop_config.json',
    servers({
      command: 'uvx',
      args: ['--from', 'git+https://git.example/docs', 'docs-mcp'],
      env: { DOCS_TOKEN: 'your_token_here' },
    }),
    'mcp-client: MX007 warning',
  ],
  [
    'settings.json',
    { env: { CLAUDE_CODE_X: '1' }, hooks: { PreToolUse: [] }, permissions: { allow: [] } },
    'unknown: MX001 error',
  ],
  [
    '.claude.json',
    { numStartups: 3, projects: { '/home/a': { mcpServers: {} } }, mcpServers: { docs: npx('-y', 'docs@1.0.0') } },
    'mcp-client: nothing',
  ],
]

const editors: RealFile[] = [
  [
    'mcp.json',
    servers({ url: 'https://docs.example/mcp', headers: { 'X-Api-Key': '${env:DOCS_KEY}' } }),
    'mcp-client: nothing',
  ],
  ['mcp.json', servers({ command: 'npx -y docs' }), 'mcp-client: MX007 warning'],
  [
    'mcp.json',
    servers({ command: 'bash', args: ['-c', `DOCS_TOKEN=${secret} npx -y docs@1.0.0`] }),
    'mcp-client: MX008 error',
  ],
  [
    'mcp.json',
    servers({ command: 'bash', args: ['-c', 'curl https://x.example/install.sh | sh'] }),
    'mcp-client: MX007 warning, MX031 warning',
  ],
  [
    'mcp.json',
    '{\n  // servers of the team\n  "servers": { "docs": { "type": "stdio", "command": "docs-mcp" }, },\n}',
    'vscode: nothing',
  ],
  [
    'mcp.json',
    vscode(
      { type: 'http', url: 'https://docs.example/mcp', headers: { Authorization: 'Bearer ${input:token}' } },
      { inputs: [{ id: 'token', type: 'promptString', password: true }] },
    ),
    'vscode: nothing',
  ],
  ['mcp.json', vscode({ command: 'docs-mcp', env: { A_KEY: '${input:missing}' } }), 'vscode: MX027 warning'],
  ['mcp.json', vscode({ command: 'docs-mcp', envFile: '${workspaceFolder}/.env' }), 'vscode: nothing'],
  [
    'settings.json',
    '{ "editor.fontSize": 12, /* x */ "mcp": { "servers": { "docs": { "command": "docs-mcp" } } } }',
    'vscode: nothing',
  ],
  [
    'mcp_config.json',
    servers({ serverUrl: 'http://127.0.0.1:8788/mcp', headers: { Authorization: 'Bearer ${env:DOCS_TOKEN}' } }),
    'mcp-client: nothing',
  ],
  ['mcp_config.json', servers({ serverUrl: 'https://docs.example/sse' }), 'mcp-client: MX017 warning'],
  ['settings.json', zed({ source: 'custom', command: 'uvx', args: ['docs', 'serve'], env: {} }), 'zed: MX007 warning'],
  [
    'settings.json',
    zed({ command: { path: 'npx', args: ['-y', 'docs@1.0.0'], env: { A_TOKEN: secret } }, settings: {} }),
    'zed: MX008 error',
  ],
  ['settings.json', zed({ settings: { database_url: `postgresql://app:${secret}@db.example/x` } }), 'zed: MX008 error'],
  ['settings.json', zed({ settings: { page_format: 'Letter' } }), 'zed: nothing'],
  [
    'settings.json',
    zed({ url: 'http://127.0.0.1:8788/mcp', headers: { Authorization: 'Bearer <DOCS_TOKEN>' } }),
    'zed: nothing',
  ],
  ['settings.json', { languages: { JSON: { formatter: 'biome' } }, lsp: {} }, 'unknown: MX001 error'],
]

const terminals: RealFile[] = [
  [
    'config.toml',
    '[mcp_servers.docs]\ncommand = "node"\nargs = ["/home/a/docs/dist/index.js"]\ndefault_tools_approval_mode = "writes"\n',
    'codex: nothing',
  ],
  ['config.toml', '[mcp_servers.docs]\ncommand = "bash"\nargs = ["scripts/docs.sh"]\n', 'codex: nothing'],
  [
    'config.toml',
    '[shell_environment_policy.set]\nA_TOKEN_SEARCH = "true"\n[mcp_servers.docs]\nurl = "https://docs.example/mcp"\n',
    'codex: nothing',
  ],
  [
    'config.toml',
    '#:schema x\n[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs@latest"]\nstartup_timeout_sec = 30\n',
    'codex: MX007 warning',
  ],
  [
    'config.toml',
    `[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs@1.0.0"]\nenv = { DOCS_TOKEN = "${secret}" }\n`,
    'codex: MX008 error',
  ],
  [
    'config.toml',
    '[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs@1.0.0"]\nenv = { DOCS_ADMIN_TOKEN = "put-token-here" }\n',
    'codex: nothing',
  ],
  [
    'config.toml',
    '[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nbearer_token_env_var = "DOCS_PAT"\nenabled_tools = ["search"]\n',
    'codex: nothing',
  ],
  [
    'config.toml',
    `[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nbearer_token = "${secret}"\n`,
    'codex: MX008 error',
  ],
  ['config.toml', '[mcp_servers.docs]\ncommand = "npx"\n[mcp_servers.docs]\ncommand = "npx"\n', 'TOML: MX022 error'],
  [
    'config.toml',
    'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n[features]\nmulti_agent = true\n',
    'unknown: MX001 error',
  ],
  [
    'gemini-extension.json',
    {
      name: 'docs',
      version: '1.0.0',
      mcpServers: { docs: { httpUrl: 'https://docs.example/mcp', oauth: { enabled: true, scopes: ['docs.read'] } } },
    },
    'mcp-client: nothing',
  ],
  [
    'gemini-extension.json',
    { name: 'docs', version: '1.0.0', mcpServers: { docs: npx('docs@latest') } },
    'mcp-client: MX007 warning',
  ],
  [
    'gemini-extension.json',
    {
      name: 'docs',
      version: '1.0.0',
      mcpServers: {
        docs: { command: 'node', args: ['${extensionPath}${/}dist${/}index.js'], cwd: '${extensionPath}' },
      },
    },
    'mcp-client: nothing',
  ],
  [
    'settings.json',
    '{\n  // Gemini\n  "theme": "GitHub", "mcpServers": { "docs": { "command": "docs-mcp", "trust": true } }\n}',
    'mcp-client: nothing',
  ],
  [
    'opencode.json',
    opencode({ type: 'local', command: ['npx', '-y', 'docs'], enabled: true }),
    'opencode: MX007 warning',
  ],
  [
    'opencode.jsonc',
    '{ "mcp": { "docs": { "type": "remote", "url": "https://docs.example/mcp", "headers": { "Authorization": "Bearer {env:DOCS_KEY}" } }, }, }',
    'opencode: nothing',
  ],
  [
    'opencode.json',
    opencode({ type: 'local', command: ['docs-mcp'], environment: { DOCS_KEY: secret } }),
    'opencode: MX008 error',
  ],
  [
    'opencode.json',
    {
      $schema: 'https://opencode.ai/config.json',
      mcp: { servers: { docs: { type: 'local', command: ['docs-mcp'], disabled: true } } },
    },
    'opencode: nothing',
  ],
  [
    'mcp.json',
    servers({
      command: 'uvx',
      args: ['docs@latest'],
      transportType: 'stdio',
      autoApprove: ['search'],
      disabled: false,
    }),
    'mcp-client: MX007 warning',
  ],
]

const published: RealFile[] = [
  [
    'server.json',
    registry({ remotes: [{ type: 'streamable-http', url: 'https://docs.example/mcp' }] }),
    'registry: nothing',
  ],
  [
    'server.json',
    registry({
      packages: [{ registryType: 'npm', identifier: '@example/docs', version: '1.2.3', transport: { type: 'stdio' } }],
    }),
    'registry: nothing',
  ],
  ['server.json', registry({ remotes: [{ type: 'sse', url: 'https://docs.example/sse' }] }), 'registry: MX017 error'],
  [
    'server.json',
    registry({ packages: [{ registryType: 'oci', identifier: 'ghcr.io/example/docs', transport: { type: 'stdio' } }] }),
    'registry: MX007 warning',
  ],
  [
    'manifest.json',
    bundle({
      type: 'node',
      entry_point: 'server/index.js',
      mcp_config: { command: 'node', args: ['${__dirname}/server/index.js'] },
    }),
    'mcpb: nothing',
  ],
  [
    'manifest.json',
    bundle(
      { type: 'node', mcp_config: { command: 'node', args: [], env: { KEY: '${user_config.key}' } } },
      { user_config: { key: { type: 'string', sensitive: true } } },
    ),
    'mcpb: nothing',
  ],
  ['manifest.json', { manifest_version: 3, name: 'A browser extension', version: '1.0' }, 'unknown: MX001 error'],
  ['SKILL.mdc', '# Docs\n\nUse the docs server.\n', 'Markdown: MX001 error'],
  ['mcp.yaml', 'mcpServers:\n  - name: docs\n    type: streamable-http\n', 'YAML: MX001 error'],
]

export const realFiles: readonly RealFile[] = [...claude, ...editors, ...terminals, ...published]
