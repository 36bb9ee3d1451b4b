import { BUILTIN_ALIAS, builtinTools } from '@matrix/protocol'

/** Names that no other server may have: they stand for the tools of Matrix itself. */
export const reservedAliases: readonly string[] = ['builtin', 'native', BUILTIN_ALIAS]

type Declared = {
  alias?: string | undefined
  transport?: string | undefined
  command?: string | undefined
  args?: readonly string[] | undefined
  env?: unknown
}

const launchArguments = ['serve-tools', '--stdio']

/** Whether an entry declares Matrix's own tools, whose bytes come with Matrix, exactly as they are started. */
export function isOwnServer({ alias, transport, command, args = [], env }: Declared): boolean {
  return (
    alias === BUILTIN_ALIAS &&
    transport === 'stdio' &&
    command === 'mxd' &&
    isEmpty(env) &&
    args.length === launchArguments.length &&
    args.every((argument, index) => argument === launchArguments[index])
  )
}

function isEmpty(env: unknown): boolean {
  return env === undefined || (typeof env === 'object' && env !== null && Object.keys(env).length === 0)
}

const prefix = `mcp__${BUILTIN_ALIAS}__`
const ownTools = new Set<string>(Object.values(builtinTools).map((name) => name.slice(prefix.length)))

/** Whether Matrix's own server has a tool of this name: `commit`, `done` and the like are not for a manifest to declare. */
export function isOwnServerTool(name: string): boolean {
  return ownTools.has(name)
}
