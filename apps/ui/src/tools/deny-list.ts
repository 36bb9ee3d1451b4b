import type { ConfigView } from '@matrix/protocol/http'

/** How the setting `deny` names one tool: Matrix's own by its name, any other with its server. */
export function denyPattern(alias: string, tool: string): string {
  return alias === 'mxd' ? tool : `@${alias}/${tool}`
}

/** What the setting `deny` says now, all layers together. */
export function readDenied(config: ConfigView): string[] {
  const value = config.entries.find(({ key }) => key === 'deny')?.value
  return Array.isArray(value) ? value.filter((pattern) => typeof pattern === 'string') : []
}

export function toggleDenied(denied: readonly string[], pattern: string): string[] {
  return denied.includes(pattern) ? denied.filter((one) => one !== pattern) : [...denied, pattern]
}
