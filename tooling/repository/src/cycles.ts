import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { workspaceFolders } from '../../bootstrap/workspace.mjs'
import { findImports } from './imports.ts'
import { sourceFiles } from './source-files.ts'

/**
 * Every circle of files that import each other, types included, as sorted paths.
 * A lazy `import()` does not count: a page that is loaded on demand may navigate by the router that names it.
 */
export function findCycles(root: string): string[][] {
  const files = workspaceFolders(root).flatMap((folder) => sourceFiles(root, folder))
  const known = new Set(files)
  const imports = new Map(files.map((file) => [file, importsOf(root, file).filter((target) => known.has(target))]))
  return findCircles(imports).map((circle) => circle.toSorted())
}

function importsOf(root: string, file: string): string[] {
  return findImports(file, readFileSync(join(root, file), 'utf8'))
    .filter(({ specifier, isLazy }) => specifier.startsWith('.') && !isLazy)
    .map(({ specifier }) => posix.join(posix.dirname(file), specifier))
}

/** Tarjan's strongly connected components, of more than one file or of one that imports itself. */
function findCircles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []

  const visit = (file: string): number => {
    const own = order.size
    order.set(file, own)
    open.push(file)
    const reached = (graph.get(file) ?? []).map((target) => {
      const known = order.get(target)
      if (known === undefined) return visit(target)
      return open.includes(target) ? known : own
    })
    const low = Math.min(own, ...reached)
    if (low < own) return low

    const circle = open.splice(open.indexOf(file))
    if (circle.length > 1 || graph.get(file)?.includes(file)) circles.push(circle)
    return own
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return circles
}
