import { BUILTIN_ALIAS, builtinTools, orchestratorTools } from '@matrix/protocol'
import { matchesGlob } from '../policy/glob.ts'

const wirePrefix = `mcp__${BUILTIN_ALIAS}__`

/** The names of Matrix's own tools, as manifests write them. */
export const nativeTools: readonly string[] = [...Object.values(builtinTools), ...Object.values(orchestratorTools)].map(
  (name) => name.slice(wirePrefix.length),
)

// One tool there can be several here. All of them are listed, or a denial of the one could be walked around through another.
const reading = ['read_file', 'list_files', 'search']
const writing = ['write_file', 'edit_file']
// A command that goes on in the background is looked after with the second.
const shell = ['bash', 'background']

/** What other programs call the tools that Matrix has too; `-` and `_` are the same in all of these names. */
export const nativeToolAliases: Readonly<Record<string, readonly string[]>> = {
  fs_read: reading,
  read: reading,
  fs_write: writing,
  write: writing,
  execute_bash: shell,
  execute_cmd: shell,
  shell,
  grep: ['search'],
  glob: ['list_files'],
}

/** Native tools of the programs this format comes from that have no counterpart here. */
const foreignTools: readonly string[] = [
  ...[
    'aws',
    'code',
    'delegate',
    'introspect',
    'knowledge',
    'report',
    'report_issue',
    'session',
    'subagent',
    'thinking',
  ],
  ...['todo', 'todo_list', 'use_aws', 'use_subagent', 'web_fetch', 'web_search'],
]

/** The tools that a native name or pattern stands for, under Matrix's own names; none when nothing has that name. */
export function resolveNativeTools(pattern: string): string[] {
  const named = [...nativeTools.map((name) => [name, [name]] as const), ...Object.entries(nativeToolAliases)]
  const found = named.filter(([name]) => matchesGlob(pattern, name) || matchesGlob(pattern, name.replaceAll('_', '-')))
  return [...new Set(found.flatMap(([, tools]) => tools))]
}

export function isForeignTool(name: string): boolean {
  return foreignTools.includes(name.replaceAll('-', '_'))
}
