import { readLimits, type Sandbox } from '@matrix/tool-manager'
import { boxMemory, findUserPart, openMachineToolchains } from './box-surroundings.ts'

/** What an agent's shell has, asked from inside one. */
export type SandboxView = {
  programs: { name: string; path: string; version: string }[]
  /** What is read from outside for them. */
  folders: string[]
  skipped: { path: string; reason: string }[]
  variables: string[]
  withheld: { name: string; reason: string }[]
  limits: { processes: number; openFiles: number; memoryBytes: number; fileBytes: number; sharedBytes: number }
}

/** Each with what it answers with its version. */
const known = {
  '--version': [
    ...['git', 'node', 'npm', 'pnpm', 'yarn', 'bun', 'deno', 'python3', 'pip', 'uv', 'poetry', 'cargo', 'rustc', 'mvn'],
    ...['gradle', 'ruby', 'bundle', 'php', 'composer', 'dotnet', 'gcc', 'clang', 'make', 'cmake', 'ninja', 'rg'],
  ],
  version: ['go'],
  '-version': ['java'],
}

export async function viewSandbox(
  sandbox: Sandbox,
  { dataDirectory, environment }: { dataDirectory: string; environment: readonly string[] },
): Promise<SandboxView> {
  const { toolchains, files, env, skipped, withheld } = await findUserPart(
    openMachineToolchains(dataDirectory),
    environment,
  )
  const policy = { sideEffects: ['shell'] as const, toolchains, files }
  const running = await sandbox.spawn({ program: '/bin/bash', args: ['-c', asking()], env, policy })
  const output = Buffer.concat(await running.stdout.toArray()).toString()
  return {
    programs: parsePrograms(output),
    folders: toolchains,
    skipped,
    variables: Object.keys(env).sort(),
    withheld,
    limits: { ...readLimits({ sideEffects: ['shell'] }), memoryBytes: boxMemory() },
  }
}

/** All at once: some take a second to say who they are. */
function asking(): string {
  const questions = Object.entries(known).flatMap(([flag, names]) => names.map((name) => `ask ${name} ${flag} &`))
  const ask = `ask() { p=$(command -v "$1") || return; v=$(timeout 10 "$p" "$2" 2>&1 </dev/null); code=$?; v=$(grep -m1 '[^[:space:]]' <<< "$v"); printf '%s\\t%s\\t%s\\t%s\\n' "$1" "$p" "$code" "$v"; }`
  return [ask, ...questions, 'wait'].join('\n')
}

function parsePrograms(output: string): SandboxView['programs'] {
  const order = Object.values(known).flat()
  return output
    .split('\n')
    .map((line) => line.split('\t'))
    .flatMap(([name, path, code, answer = '']) => {
      if (!name || !path) return []
      const version = /\d+(?:\.\d+)+[\w.+-]*/.exec(answer)?.[0] ?? answer.trim()
      return [{ name, path, version: code === '0' ? version : `does not run: ${answer.trim().slice(0, 60)}` }]
    })
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
}
