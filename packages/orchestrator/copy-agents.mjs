// Puts the manifests that come with Matrix beside the code that looks for them: node copy-agents.mjs [folder]
import { cpSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const target = process.argv[2] ?? fileURLToPath(new URL('dist/agents', import.meta.url))
cpSync(fileURLToPath(new URL('../../agents', import.meta.url)), target, {
  recursive: true,
  // The catalogue is for people who write a manifest; it is none itself.
  filter: (path) => !['README.md', 'catalog.json'].includes(basename(path)),
})
