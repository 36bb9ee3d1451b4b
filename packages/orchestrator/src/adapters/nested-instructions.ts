import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { instructionNames } from '../instructions.ts'

const MAX_FOLDERS = 2000
const MAX_DEPTH = 6
const MAX_FOUND = 50

/** Instruction files below a folder, the highest first. Links, hidden folders and installed packages are passed over. */
export async function findNestedInstructions(folder: string): Promise<string[]> {
  const found: string[] = []
  let level = ['']
  let looked = 0
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    const below: string[] = []
    for (const path of level) {
      if (looked >= MAX_FOLDERS || found.length >= MAX_FOUND) return found
      looked += 1
      const entries = await readdir(join(folder, path), { withFileTypes: true }).catch(() => [])
      const name = instructionNames.find((each) => entries.some((entry) => entry.isFile() && entry.name === each))
      if (name) found.push(join(path, name))
      for (const entry of entries)
        if (entry.isDirectory() && !isPassedOver(entry.name)) below.push(join(path, entry.name))
    }
    level = below.sort()
  }
  return found
}

function isPassedOver(name: string): boolean {
  return name.startsWith('.') || ['node_modules', 'vendor', 'target', 'dist', 'build', '__pycache__'].includes(name)
}
