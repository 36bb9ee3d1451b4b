import { type Finding, isLiteralCredential } from '@matrix/manifest/verify'

/** The lines of a file fit to be shown: every literal credential in them is blotted out, also beside another finding. */
export function maskCredentials(lines: readonly string[], findings: readonly Finding[]): string[] {
  const masked = lines.map((line) => maskAssignments(maskStrings(line)))
  for (const { rule, line, column, endLine, endColumn } of findings) {
    const text = masked[line - 1]
    if (rule !== 'MX008' || text === undefined) continue
    masked[line - 1] = blot(text, column - 1, endLine === line ? endColumn - 1 : text.length)
  }
  return masked
}

const quoted = /"((?:[^"\\]|\\.)*)"(\s*:)?/g
const assignment = /^-{0,2}([A-Za-z][\w.-]*)[=:]\s*(.*)$/s

/** Whatever looks like a credential under the name before it: a file that cannot be parsed has no findings to go by. */
function maskStrings(line: string): string {
  let masked = line
  let name = ''
  for (const { 0: whole, 1: value = '', 2: colon, index } of line.matchAll(quoted)) {
    if (colon) name = value
    if (colon ? isLiteralCredential('', value) : isCredential(name, value))
      masked = blot(masked, index, index + whole.length)
    if (!colon && value.startsWith('-')) name = value.replace(/^-+/, '')
  }
  return masked
}

const tomlAssignment = /(?<![\w.-])([\w.-]+)["']?[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')/g

/** `NAME = "value"`, as TOML has it. */
function maskAssignments(line: string): string {
  let masked = line
  for (const { 0: whole, 1: name = '', 2: value = '', index } of line.matchAll(tomlAssignment)) {
    const end = index + whole.length
    if (isCredential(name, value.slice(1, -1))) masked = blot(masked, end - value.length, end)
  }
  return masked
}

function isCredential(name: string, value: string): boolean {
  const [, assigned = '', rest = ''] = assignment.exec(value) ?? []
  return isLiteralCredential(name, value) || isLiteralCredential(assigned, rest)
}

function blot(text: string, from: number, to: number): string {
  return text.slice(0, from) + '•'.repeat(Math.max(0, to - from)) + text.slice(to)
}
