import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The folders of all workspace packages, relative to the root, in a stable order.
 * @param {string} root
 * @returns {string[]}
 */
export function workspaceFolders(root) {
  const workspace = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')
  const parents = [...workspace.matchAll(/^ {2}- ([\w-]+)\/\*$/gm)].map(([, parent = '']) => parent)

  return parents
    .filter((parent) => existsSync(join(root, parent)))
    .flatMap((parent) => readdirSync(join(root, parent)).map((name) => `${parent}/${name}`))
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .sort()
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {{ name: string, private?: boolean, scripts?: Record<string, string>, packageManager?: string }}
 */
export function readPackage(root, folder = '.') {
  const file = join(root, folder, 'package.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}
