import { printableLine } from '@matrix/protocol'
import { excerpt } from '../diff/text-diff.ts'
import type { Problem } from '../document/finding.ts'
import type { Path } from '../document/source-text.ts'
import type { ToolSurface } from '../lock/surface.ts'
import { type DefinitionFinding, lintDefinitions } from './definition-lint.ts'

/** The findings of one definition for a report; hidden characters have a rule of their own there. */
export function definitionWordProblems(tool: ToolSurface, path: Path): Problem[] {
  return lintDefinitions([tool])
    .filter(({ rule }) => rule !== 'hidden-characters')
    .map((finding) => ({ rule: 'MX030', path, message: `${formatDefinitionFinding(finding)}.` }))
}

/** One line: how serious, which tool and field, what it does, and the words. */
export function formatDefinitionFinding({ severity, rule, tool, field, message, words }: DefinitionFinding): string {
  const quoted = JSON.stringify(printableLine(excerpt(words, 200)))
  return printableLine(`${severity} ${rule}: ${tool} ${message} in ${excerpt(field)}: ${quoted}`)
}
