import { readFileSync } from 'node:fs'

/**
 * The kernel shows the memory, the environment and the open files of a process only to those who hold every capability that it holds.
 * This one counts on the host alone: in a user namespace, where every sandbox is, it allows nothing.
 */
export const GUARD = 'CAP_WAKE_ALARM'

/** The command that starts the same without what guards this process, so that it cannot look into it. */
export function unguarded(command: readonly string[]): readonly string[] {
  isGuarded ??= holdsGuard()
  return isGuarded ? ['/usr/bin/setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--', ...command] : command
}

let isGuarded: boolean | undefined

/** What would be handed on is what has to be taken away; outside of a sandbox there is nothing. */
function holdsGuard(): boolean {
  if (process.platform !== 'linux') return false
  return !/^CapAmb:\s*0+$/m.test(readFileSync('/proc/self/status', 'latin1'))
}
