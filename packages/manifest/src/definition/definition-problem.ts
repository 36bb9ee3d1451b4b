import { printableLine } from '@matrix/protocol'
import { excerpt } from '../diff/text-diff.ts'
import type { Problem } from '../document/finding.ts'
import type { Path } from '../document/source-text.ts'
import type { ToolSurface } from '../lock/surface.ts'
import { type DefinitionFinding, lintDefinitions } from './definition-lint.ts'

/**
 * The grave findings of one definition for a report. Hidden characters have a rule of their own there, and a lock shows the
 * lesser ones to the user who writes it: honest servers say such things too.
 */
export function definitionWordProblems(tool: ToolSurface, path: Path): Problem[] {
  return lintDefinitions([tool])
    .filter(({ rule, severity }) => severity === 'high' && rule !== 'hidden-characters')
    .map((finding) => ({ rule: 'MX030', path, message: `${formatDefinitionFinding(finding)}.` }))
}

/** One line: how serious, which tool and field, what it does, and the words. */
export function formatDefinitionFinding({ severity, rule, tool, field, message, words }: DefinitionFinding): string {
  const quoted = JSON.stringify(printableLine(excerpt(words, 200)))
  return printableLine(`${severity} ${rule}: ${tool} ${message} in ${excerpt(field)}: ${quoted}`)
}
