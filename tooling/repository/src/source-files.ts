import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const skipped = new Set(['node_modules', 'dist', 'fixtures', 'strangers', '.turbo', 'coverage'])

/** Every source file below a folder that is neither built, installed nor an example. */
export function sourceFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : sourceFiles(root, path)
    return /\.(ts|tsx|mts|js|jsx|mjs)$/.test(entry.name) ? [path] : []
  })
}
