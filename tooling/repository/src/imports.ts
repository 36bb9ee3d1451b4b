import { parseSync } from 'oxc-parser'

/** A module as the source names it, and the line it is named on. */
export type Import = { specifier: string; line: number }

/** Every module a file reaches for: static, re-exported, dynamic, required, or only as a type. */
export function findImports(file: string, text: string): Import[] {
  const { program, errors } = parseSync(file, text)
  const [error] = errors
  if (error) throw new Error(`${file} cannot be parsed: ${error.message}`)

  return findSpecifiers(program).map(({ value, start }) => ({
    specifier: value,
    line: text.slice(0, start).split('\n').length,
  }))
}

type Specifier = { value: string; start: number }
type Node = { type?: string; source?: unknown; expression?: unknown; callee?: { name?: string }; arguments?: unknown[] }

function findSpecifiers(node: unknown): Specifier[] {
  if (typeof node !== 'object' || node === null) return []

  const own = specifierOf(node)
  return [...(isSpecifier(own) ? [own] : []), ...Object.values(node).flatMap(findSpecifiers)]
}

function specifierOf(node: Node): unknown {
  if (node.type === 'CallExpression') return node.callee?.name === 'require' ? node.arguments?.[0] : undefined
  if (node.type === 'TSExternalModuleReference') return node.expression

  // Imports, re-exports, `import()` and import types all keep their module here.
  return node.source
}

function isSpecifier(node: unknown): node is Specifier {
  return typeof node === 'object' && node !== null && 'value' in node && typeof node.value === 'string'
}
