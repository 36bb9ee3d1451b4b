import { parseSync } from 'oxc-parser'

/** A module as the source names it, and the line it is named on. `isLazy` where `import()` loads it when it is needed. */
export type Import = { specifier: string; line: number; isLazy: boolean }

/** Every module a file reaches for: static, re-exported, dynamic, required, or only as a type. */
export function findImports(file: string, text: string): Import[] {
  const { program, errors } = parseSync(file, text)
  const [error] = errors
  if (error) throw new Error(`${file} cannot be parsed: ${error.message}`)

  return findSpecifiers(program).map(({ value, start, isLazy }) => ({
    specifier: value,
    isLazy,
    line: text.slice(0, start).split('\n').length,
  }))
}

type Specifier = { value: string; start: number; isLazy: boolean }
type Node = { type?: string; source?: unknown; expression?: unknown; callee?: { name?: string }; arguments?: unknown[] }

function findSpecifiers(node: unknown): Specifier[] {
  if (typeof node !== 'object' || node === null) return []

  const own = moduleOf(node)
  const found = isLiteral(own) ? [{ ...own, isLazy: 'type' in node && node.type === 'ImportExpression' }] : []
  return [...found, ...Object.values(node).flatMap(findSpecifiers)]
}

function moduleOf(node: Node): unknown {
  if (node.type === 'CallExpression') return node.callee?.name === 'require' ? node.arguments?.[0] : undefined
  if (node.type === 'TSExternalModuleReference') return node.expression

  // Imports, re-exports, `import()` and import types all keep their module here.
  return node.source
}

function isLiteral(node: unknown): node is { value: string; start: number } {
  return typeof node === 'object' && node !== null && 'value' in node && typeof node.value === 'string'
}
