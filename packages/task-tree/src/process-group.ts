/** Asks everything in a process group to end, and kills what has not after a while. Asked, git takes its lock files with it. */
export function endGroup(pid: number | undefined, graceMs: number): void {
  if (pid === undefined) return
  signalGroup(pid, 'SIGTERM')
  setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs).unref()
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended already.
  }
}
