import { readFileSync } from 'node:fs'
import { type BoxLimits, type BoxPolicy, resolveLimits } from './box-policy.ts'

/** The limits of a box on this machine: it can be given less than this process itself has, and never more. */
export function readLimits(policy: BoxPolicy): BoxLimits {
  const text = readFileSync('/proc/self/limits', 'utf8')
  const limits = resolveLimits(policy)
  return {
    ...limits,
    processes: Math.min(limits.processes, hardLimit(text, 'Max processes')),
    openFiles: Math.min(limits.openFiles, hardLimit(text, 'Max open files')),
    fileBytes: Math.min(limits.fileBytes, hardLimit(text, 'Max file size')),
  }
}

function hardLimit(text: string, name: string): number {
  const [, hard] = new RegExp(`^${name}\\s+\\S+\\s+(\\S+)`, 'm').exec(text) ?? []
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
}
