import { accessSync, constants, readFileSync } from 'node:fs'
import { arch, type as kernelName, release } from 'node:os'
import { join } from 'node:path'
import type { BoxLimits } from '@matrix/tool-manager'
import type { SurroundingsFacts } from '../surroundings-text.ts'

export type DescribeOptions = {
  hasShell: boolean
  isSandboxed: boolean
  /** Where the agent's shell looks for programs. */
  searchPath: string
  hosts: readonly string[] | undefined
  mayAskForHosts: boolean
  limits: Pick<BoxLimits, 'memoryBytes' | 'processes'>
  isPartialClone: boolean
  now: number
}

/** What is worth knowing of a machine before the first command: what others have, an agent finds out for itself. */
const known = [
  ...['git', 'node', 'npm', 'pnpm', 'yarn', 'bun', 'deno', 'python3', 'pip', 'uv', 'poetry', 'go', 'cargo', 'rustc'],
  ...['java', 'mvn', 'gradle', 'make', 'cmake', 'ninja', 'gcc', 'clang', 'ruby', 'bundle', 'php', 'composer', 'dotnet'],
  ...['swift', 'elixir', 'ghc', 'rg', 'jq', 'curl', 'sqlite3'],
]

export function describeSurroundings(options: DescribeOptions): SurroundingsFacts {
  const { hasShell, isSandboxed, searchPath, hosts, mayAskForHosts, limits, isPartialClone, now } = options
  const folders = searchPath.split(':').filter((folder) => folder.startsWith('/'))
  return {
    system: `${distribution() ?? `${kernelName()} ${release()}`}, ${arch()}`,
    date: new Date(now).toISOString().slice(0, 10),
    shell: hasShell ? 'bash' : undefined,
    isSandboxed,
    programs: known.filter((name) => folders.some((folder) => isProgram(join(folder, name)))),
    hosts,
    mayAskForHosts,
    limits: isSandboxed ? limits : undefined,
    isPartialClone,
  }
}

function distribution(): string | undefined {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
