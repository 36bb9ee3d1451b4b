/** What an agent's tools have around it, as plain facts. */
export type SurroundingsFacts = {
  /** Such as "Debian GNU/Linux 12, x64". */
  system: string
  /** `YYYY-MM-DD`: what changes within a day would change what providers cache. */
  date: string
  /** Undefined where the agent runs no commands; then nothing is said of what they could reach. */
  shell: string | undefined
  isSandboxed: boolean
  /** Programs for building and testing that the shell finds. */
  programs: readonly string[]
  /** Hosts that commands reach; undefined where nothing stands between them and the network. */
  hosts: readonly string[] | undefined
  /** Whether the agent can ask the user for another host. */
  mayAskForHosts: boolean
  limits: { memoryBytes: number; processes: number } | undefined
  /** Whether files of earlier commits may be missing, because the user cloned with a filter. */
  isPartialClone: boolean
}

const GiB = 2 ** 30

/** The block of an agent's first message that says where it is. */
export function formatSurroundings(facts: SurroundingsFacts): string {
  const { system, date, shell, isSandboxed, programs, isPartialClone } = facts
  if (shell === undefined) return `- ${system}. Today is ${date}. You run no commands.`
  return [
    `- ${system}; the shell is ${shell}. Today is ${date}.`,
    isSandboxed
      ? '- Commands run in a sandbox: this worktree, the home and /tmp can be written, system and toolchains read, and nothing else is there.'
      : "- Commands run without a sandbox, as the user and with the user's own files: touch nothing outside of this worktree.",
    `- Network of commands: ${networkOf(facts)}`,
    ...(isPartialClone ? [partialClone] : []),
    ...(programs.length > 0 ? [`- Programs: ${programs.join(', ')}.`] : []),
    `- Limits: a command has two minutes, up to ten with timeout_ms${limitsOf(facts)}. A result is cut at 30,000 characters.`,
  ].join('\n')
}

const partialClone =
  '- Git: the user cloned with a filter. Files of earlier commits may be missing ("unable to read") and cannot be fetched from here; `git fetch --refetch --no-filter` in the user\'s checkout brings them.'

function limitsOf({ limits }: SurroundingsFacts): string {
  if (!limits) return ''
  return `; ${Math.round(limits.memoryBytes / GiB)} GiB of memory, ${limits.processes} processes`
}

function networkOf({ hosts, mayAskForHosts }: SurroundingsFacts): string {
  if (hosts === undefined) return 'not limited.'
  if (!mayAskForHosts) return 'localhost only.'
  const reached = ['localhost', ...hosts].join(', ')
  return `${reached}; everything else is refused at once, and \`request_access\` asks the user for a host.`
}
