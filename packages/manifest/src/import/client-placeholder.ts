import type { Problem } from '../document/finding.ts'
import type { Path } from '../document/source-text.ts'
import { type FoundLaunch, type Piece, piecesOf } from './manifest-draft.ts'
import { environmentGap, type Gap, parseTemplate, type Template, variableName } from './template.ts'

const separators: readonly string[] = ['pathSeparator', '/']
/** What editors fill in by themselves. */
const editorVariables: Record<string, string> = {
  workspaceFolder: 'WORKSPACE_FOLDER',
  workspaceRoot: 'WORKSPACE_FOLDER',
  workspaceFolderBasename: 'WORKSPACE_FOLDER_NAME',
  workspacePath: 'WORKSPACE_FOLDER',
  extensionPath: 'EXTENSION_FOLDER',
}

/** opencode writes its references without the dollar sign. */
const placeholder = /(?:\$\{|\{(?=(?:env|file):))([^{}]*)\}/

/** A value of a client's file: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `{env:NAME}`, `${input:id}` and `${workspaceFolder}` are gaps. */
export function piece(text: string, path: Path): Piece {
  return { template: parseTemplate(text, placeholder, fillExpression), path }
}

function fillExpression(expression: string): Template {
  if (separators.includes(expression)) return ['/']
  if (expression === 'userHome') return [environmentGap('HOME')]
  const [, name, fallback] = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s.exec(expression) ?? []
  if (name === undefined) return [otherGap(expression.replace(/:-.*$/s, ''))]
  const variable = Object.hasOwn(editorVariables, name) ? editorVariables[name] : undefined
  return [variable ? { key: `editor:${name}`, variable, naming: 'shared' } : environmentGap(name, fallback)]
}

function otherGap(label: string): Gap {
  return { key: label, variable: variableName(label.replace(/^input:/, '')), naming: 'shared' }
}

/** Gaps that more is to be said about than that a variable must be set. */
export function gapProblems(launch: FoundLaunch, inputs: ReadonlySet<unknown>): Problem[] {
  return piecesOf(launch).flatMap(({ template, path }) =>
    template.flatMap((part) => (typeof part === 'string' ? [] : gapProblem(part, path, inputs))),
  )
}

function gapProblem({ key, variable }: Gap, path: Path, inputs: ReadonlySet<unknown>): Problem[] {
  const [, kind, name] = /^(input|editor):(.*)$/s.exec(key) ?? []
  if (kind === 'input' && !inputs.has(name))
    return [{ rule: 'MX027', path, message: `The input "${name}" is not declared in this file.` }]
  if (kind !== 'editor') return []
  const message = `An editor fills in \${${name}} by itself; in the draft it is an environment variable like any other.`
  return [{ rule: 'MX029', path, message, fix: `Set ${variable} where Matrix runs, or write the path into the draft.` }]
}
