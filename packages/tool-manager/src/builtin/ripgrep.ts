import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { unguarded } from '../sandbox/guard.ts'
import { killGroup } from '../sandbox/running-program.ts'
import { MAX_SHOWN } from './shown.ts'
import { failed } from './workspace.ts'

/** The ripgrep that comes with the package, or the system's. */
export async function findRipgrep(): Promise<string | undefined> {
  const bundled = await import('@vscode/ripgrep').then(({ rgPath }) => rgPath).catch(() => undefined)
  return [bundled, '/usr/bin/rg', '/usr/local/bin/rg'].find((path) => path !== undefined && existsSync(path))
}

export type RipgrepOptions = {
  ripgrep: string
  cwd: string
  args: readonly string[]
  /** What ends one result: a newline, or NUL for file names. */
  separator: '\n' | '\0'
  /** What is not counts towards no limit, as if it had not been found. */
  isWanted(result: string): boolean
  /** How many results to pass over first. */
  skip: number
  limit: number
  timeoutMs: number
  signal?: AbortSignal | undefined
}

export type RipgrepResult = { found: string[]; isCut: boolean; stopped: 'timeout' | 'cancelled' | undefined }

const MAX_UNFINISHED = 256 << 10
const NOTHING_FOUND = 1

/** Its settings and the ignore files outside of the tree must not change what an agent finds. */
const always = [
  '--no-config',
  '--no-ignore-global',
  '--no-require-git',
  '--color=never',
  '--sort=path',
  '--no-messages',
]

/** Runs ripgrep until it is done, has found enough, or has taken too long. Its expressions cannot be made slow. */
export function runRipgrep(options: RipgrepOptions): Promise<RipgrepResult> {
  const { ripgrep, cwd, args, separator, isWanted, skip, limit, timeoutMs, signal } = options
  const [program = '', ...rest] = unguarded([ripgrep, ...always, ...args])
  const child = spawn(program, rest, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const found: string[] = []
  let passed = 0
  let size = 0
  let unfinished = ''
  let isSilent = true
  let errors = ''
  let isCut = false
  let stopped: RipgrepResult['stopped']

  return new Promise((done, fail) => {
    const end = () => child.pid !== undefined && killGroup(child.pid)
    const stop = (reason: 'timeout' | 'cancelled') => {
      stopped = reason
      end()
    }
    const cancel = () => stop('cancelled')
    const timer = setTimeout(stop, timeoutMs, 'timeout')
    signal?.addEventListener('abort', cancel, { once: true })

    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      if (isCut) return
      isSilent = false
      const results = (unfinished + chunk).split(separator)
      unfinished = results.pop() ?? ''
      for (const result of results.filter((each) => each !== '' && isWanted(each))) {
        passed += 1
        if (passed <= skip) continue
        size += result.length + 1
        // One result is shown however long it is, or nothing would lead on from it.
        isCut = found.length >= limit || (size > MAX_SHOWN && found.length > 0)
        if (isCut) break
        found.push(result)
      }
      isCut ||= unfinished.length > MAX_UNFINISHED
      if (isCut) end()
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors = (errors + chunk).slice(0, 4096)
    })
    child.on('error', (cause) => fail(failed(`ripgrep could not be started: ${cause.message}`, { cause })))
    child.on('close', (code) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      if (code !== null && code > NOTHING_FOUND && isSilent) return fail(failed(explain(errors)))
      done({ found, isCut, stopped })
    })
  })
}

function explain(errors: string): string {
  return errors.trim().replace(/^(rg|error): */gm, '') || 'ripgrep failed without a word.'
}
