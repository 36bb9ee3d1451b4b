import type { FileChange } from '@matrix/protocol/http'

/** A row of the file tree: a folder, or a file in one. Folders that hold only one folder are joined with it. */
export type TreeRow =
  | { kind: 'folder'; name: string; path: string; depth: number }
  | { kind: 'file'; name: string; file: FileChange; depth: number }

type Folder = { folders: Map<string, Folder>; files: FileChange[] }

export function toTreeRows(files: readonly FileChange[]): TreeRow[] {
  const root: Folder = { folders: new Map(), files: [] }
  for (const file of files) {
    let folder = root
    for (const name of file.path.split('/').slice(0, -1)) {
      const next = folder.folders.get(name) ?? { folders: new Map(), files: [] }
      folder.folders.set(name, next)
      folder = next
    }
    folder.files.push(file)
  }
  return rowsOf(root, '', 0)
}

function rowsOf(folder: Folder, path: string, depth: number): TreeRow[] {
  const folders = [...folder.folders].sort(byName).flatMap(([name, inner]) => {
    const [joined, contents] = joinSingle(name, inner)
    const inside = `${path}${joined}/`
    return [{ kind: 'folder' as const, name: joined, path: inside, depth }, ...rowsOf(contents, inside, depth + 1)]
  })
  const files = folder.files
    .map((file): [string, FileChange] => [file.path.slice(path.length), file])
    .sort(byName)
    .map(([name, file]) => ({ kind: 'file' as const, name, file, depth }))
  return [...folders, ...files]
}

function joinSingle(name: string, folder: Folder): [string, Folder] {
  const [only, ...others] = folder.folders
  if (!only || others.length > 0 || folder.files.length > 0) return [name, folder]
  return joinSingle(`${name}/${only[0]}`, only[1])
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1
}
