import { parseArgs } from 'node:util'
import { serveTools } from './serve-tools.ts'

const { values } = parseArgs({
  options: { root: { type: 'string' }, version: { type: 'string' }, ripgrep: { type: 'string' } },
})
const { root = process.cwd(), version = '0.1.0', ripgrep } = values

await serveTools({ root, version, ripgrep })
process.exit()
