import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { MEMORY_LIMIT } from '../sandbox/boxed.ts'

/** Told to every command that runs, in its output. */
export type MemoryListener = (note: string) => void

export type MemoryWatch = {
  /** Looks at memory until what it returns is called. */
  during(listener: MemoryListener): () => void
}

const EVERY_MS = 250
const PAGE = 4096
const GiB = 2 ** 30

/**
 * Ends the largest process when all of a sandbox together hold more than they may, and says so. The kernel's own limits are on one
 * process, count what is only reserved (which sanitizers do by the terabyte), and end it without a word.
 */
export function openMemoryWatch(limitBytes = Number(process.env[MEMORY_LIMIT])): MemoryWatch {
  const listeners = new Set<MemoryListener>()
  let timer: NodeJS.Timeout | undefined
  if (limitBytes > 0) offerToKernel()

  function look(): void {
    const found = listProcesses()
    const held = found.reduce((sum, { bytes }) => sum + bytes, 0)
    const largest = found.filter(({ pid }) => pid !== process.pid).sort((a, b) => b.bytes - a.bytes)[0]
    if (held <= limitBytes || !largest || !end(largest.pid)) return
    const limit = `${(limitBytes / GiB).toFixed(1)} GiB`
    const note = `\n[memory limit: ${largest.name} held ${(largest.bytes / GiB).toFixed(1)} GiB and was ended; the processes of this sandbox may hold ${limit} together]\n`
    for (const listener of listeners) listener(note)
  }

  return {
    during(listener) {
      if (!(limitBytes > 0)) return () => {}
      listeners.add(listener)
      timer ??= setInterval(look, EVERY_MS)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

/** Where the machine itself runs out of memory, what an agent started ends before what the user works with. */
function offerToKernel(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // A kernel without it chooses as it likes.
  }
}

type Held = { pid: number; bytes: number; name: string }

/** The processes of this sandbox, which sees no others, with what each holds for itself alone. */
function listProcesses(): Held[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const [, resident = 0, shared = 0] = read(`/proc/${name}/statm`).split(' ').map(Number)
    const bytes = (resident - shared) * PAGE
    return [{ pid: Number(name), bytes, name: read(`/proc/${name}/comm`).trim() || 'a process' }]
  })
}

function end(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** How many processes the kernel has ended on this machine because there was no memory left. */
export function countKernelKills(): number {
  return Number(/^oom_kill (\d+)$/m.exec(read('/proc/vmstat'))?.[1] ?? 0)
}
