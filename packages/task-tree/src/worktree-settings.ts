import { join } from 'node:path'
import type { Disk } from './disk.ts'
import { replaceFile } from './durable-file.ts'
import { ownSettings, parseConfig, type Repository } from './repository.ts'
import { readText } from './worktree-place.ts'

/**
 * Gives a task's worktree settings that outrank those of the repository, so that nothing an agent wrote runs when the user's own
 * git works there: no hook, no file monitor, and no filter or driver that is kept inside the repository.
 */
export async function isolateSettings(disk: Disk, repository: Repository, admin: string): Promise<void> {
  const file = join(admin, 'config.worktree')
  const before = await readText(disk, file)
  if (before.includes(hooksOff)) return
  const config = await readConfig(repository)
  await allow(repository, config)
  await replaceFile(disk, file, `${before}\n${formatPrograms(config)}${hooksOff}`.trimStart())
}

const hooksOff = '[core]\n\tfsmonitor = false\n\thooksPath = /dev/null\n'.trimEnd()

/** Has git read the settings of single worktrees again, where something has turned that off since. */
export async function allowWorktreeSettings(repository: Repository): Promise<void> {
  await allow(repository, await readConfig(repository))
}

async function readConfig(repository: Repository): Promise<Map<string, string>> {
  const { text } = await repository.refs(['config', '--list', '-z'], { env: ownSettings() })
  return parseConfig(text())
}

/** As git demands, what is for the main worktree alone moves to a file of its own. */
async function allow(repository: Repository, config: ReadonlyMap<string, string>): Promise<void> {
  if (config.get('extensions.worktreeconfig') === 'true') return
  const isMain = ([name, value]: [string, string | undefined]) =>
    value !== undefined && (name === 'core.worktree' || value === 'true')
  const names = ['core.bare', 'core.worktree']
  const moved = names.map((name): [string, string | undefined] => [name, config.get(name)]).filter(isMain)
  const main = join(repository.gitDir, 'config.worktree')
  for (const [name, value = ''] of moved) await repository.refs(['config', '--file', main, name, value])
  await repository.refs(['config', '--local', '--replace-all', 'extensions.worktreeConfig', 'true'])
  for (const [name] of moved) await repository.refs(['config', '--local', '--unset-all', name])
}

// Each kind of program, and what git does by itself in its place.
const programs: readonly [name: RegExp, replacement: string][] = [
  [/^(filter)\.(.*)\.(clean|smudge|process)$/s, ''],
  [/^(diff)\.(.*)\.(textconv)$/s, 'cat'],
  [/^(diff)\.(.*)\.(command)$/s, 'f() { diff -u "$2" "$5"; true; }; f'],
  [/^(diff)(\.)(external)$/, 'f() { diff -u "$2" "$5"; true; }; f'],
  [/^(merge)\.(.*)\.(driver)$/s, 'git merge-file %A %O %B'],
]

/** Settings in place of programs inside the repository: in a worktree, git would run the agent's version of them. */
function formatPrograms(config: ReadonlyMap<string, string>): string {
  return [...config]
    .filter(([, command]) => isRelative(command))
    .flatMap(([name]) =>
      programs.flatMap(([pattern, replacement]) => {
        const [, section, subsection = '', key] = pattern.exec(name) ?? []
        const title = subsection === '.' ? section : `${section} ${quote(subsection)}`
        return section ? [`[${title}]\n\t${key} = ${quote(replacement)}\n`] : []
      }),
    )
    .join('')
}

function quote(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&')}"`
}

const scripts = /^[^/:]*\.(sh|bash|py|[cm]?[jt]s|rb|pl|php|lua|ps1)$/

/** Whether a command line names a file below the folder it runs in: `./clean.sh`, `node tools/clean.js`, `python clean.py`. */
export function isRelative(command: string): boolean {
  const words = command.split(/[\s"'=;|&()]+/).filter((word) => /^[^/~$%<>-]/.test(word))
  return words.some((word) => /^[^:]*\//.test(word) || scripts.test(word))
}
