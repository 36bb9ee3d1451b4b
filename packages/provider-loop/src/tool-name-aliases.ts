import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'

/** Names that tools had in sessions written earlier, and what they are called now. */
export const TOOL_NAME_ALIASES: ReadonlyMap<string, string> = new Map(
  [builtinTools, orchestratorTools, loopTools]
    .flatMap((names) => Object.values<string>(names))
    .map((name) => [name.replace('mcp__mxd__', ''), name]),
)

export function currentToolName(name: string): string {
  return TOOL_NAME_ALIASES.get(name) ?? name
}
