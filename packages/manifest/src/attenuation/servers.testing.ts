import type { HttpServer, StdioServer } from '../manifest/manifest.ts'

export const digest = 'sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a'
export const fs: StdioServer = {
  alias: 'fs',
  transport: 'stdio',
  command: 'npx',
  args: ['-y', 'files@1.0.0', '/workspace'],
  env: ['READ_ONLY=1', 'TOKEN=$env:T'],
  version: '1.0.0',
  package_digest: digest,
  tools: [
    { name: 'read', side_effect_class: 'read' },
    { name: 'write', side_effect_class: 'write', timeout_ms: 5000 },
  ],
}
export const mxd: StdioServer = { ...fs, alias: 'mxd', tools: [{ name: 'bash', side_effect_class: 'shell' }] }
export const docs: HttpServer = {
  alias: 'docs',
  transport: 'http',
  endpoint: 'https://docs.example.org/mcp',
  headers: { Authorization: 'Bearer $env:D' },
  version: '2.0.0',
  tools: [{ name: 'query', side_effect_class: 'network' }],
}
