import { closeSync, readdirSync, readFileSync } from 'node:fs'

/**
 * Closes what this process inherited beside its standard streams, so that nothing it starts inherits it in turn. Node opens every
 * descriptor of its own with O_CLOEXEC and marks inherited ones only up to the first gap, so one without the mark is not its own.
 * What an argument names, as `matrix verify <(generate)` does, is still to be read and stays.
 */
export function closeInherited(args: readonly string[] = process.argv.slice(2)): void {
  const named = args.map((arg) => Number(/(?:^|=)\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(arg)?.[1]))
  for (const descriptor of findInheritable().filter((descriptor) => !named.includes(descriptor))) {
    try {
      closeSync(descriptor)
    } catch {
      // It was the one through which the list was read.
    }
  }
}

/** The descriptors above the standard streams that a program started from here would have too. */
function findInheritable(): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && (readFlags(descriptor) & O_CLOEXEC) === 0)
}

const O_CLOEXEC = 0o2000000

function readFlags(descriptor: number): number {
  try {
    const [, flags = ''] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? []
    return Number.parseInt(flags, 8)
  } catch {
    return O_CLOEXEC
  }
}
