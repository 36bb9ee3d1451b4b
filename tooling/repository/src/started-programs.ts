import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One place in the sources that starts a program, and how often. */
export type StartingFile = { file: string; calls: number }

/** A row of the page: the file, how many calls it has, and the words about it. */
export type DocumentedFile = StartingFile & { what: string; why: string }

const packagesThatStart = /\bfrom '(?:execa|cross-spawn|open|node-pty|shelljs|zx|tinyexec|node:cluster)'/
const inText = /require\('(?:node:)?child_process'\)\.\w+\(/g
const inSandbox = /(?<!function )(?<!\.)\bspawnBoxed\(|\bsandbox\.spawn\(|\bopenSandbox\([^)]*\)\)\.spawn\(/g

/** Every file of packages and apps, tests aside, that starts a program of its own or in a sandbox. */
export function findStartingFiles(root: string): StartingFile[] {
  const folders = ['packages', 'apps'].flatMap((top) =>
    readdirSync(join(root, top)).map((name) => join(top, name, 'src')),
  )
  return folders
    .flatMap((folder) => listSources(root, folder))
    .map((file) => ({ file, calls: countCalls(readFileSync(join(root, file), 'utf8')) }))
    .filter(({ calls }) => calls > 0)
    .sort((a, b) => (a.file < b.file ? -1 : 1))
}

/** Uses of what is imported from Node's child_process, by whatever name, and calls that go into a sandbox. */
export function countCalls(text: string): number {
  const code = text.replace(/^\s*\/\*\*[\s\S]*?\*\/|^\s*\/\/[^\n]*$/gm, '')
  const imported = [...code.matchAll(/import \{([^}]*)\} from '(?:node:)?child_process'/g)].flatMap(([, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => name.split(' as ').at(-1) ?? name),
  )
  const body = code.replace(/^import [^;]*? from '[^']*'[^\n]*$/gm, '')
  const uses = imported.reduce(
    (sum, name) => sum + (body.match(new RegExp(`(?<![.\\w])${name}\\b(?=[()])`, 'g')) ?? []).length,
    0,
  )
  const whole = /import (?:\* as )?\w+ from '(?:node:)?child_process'|import\('(?:node:)?child_process'\)/.test(code)
    ? 1
    : 0
  const others = packagesThatStart.test(code) ? 1 : 0
  return uses + whole + others + (body.match(inText) ?? []).length + (body.match(inSandbox) ?? []).length
}

/** The table of the page. */
export function readTable(page: string): DocumentedFile[] {
  return page.split('\n').flatMap((line) => {
    const [, file, calls, what = '', why = ''] = /^\| `([^`]+\.ts)` \| (\d+) \| (.+?) \| (.+) \|$/.exec(line) ?? []
    return file === undefined ? [] : [{ file, calls: Number(calls), what, why }]
  })
}

function listSources(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return listSources(root, path)
      const isSource =
        /\.(?:[cm]?[jt]s|tsx)$/.test(entry.name) && !/\.(?:test|testing|bench)\.\w+$|^testing\.ts$/.test(entry.name)
      return isSource ? [path] : []
    })
  } catch {
    return []
  }
}
