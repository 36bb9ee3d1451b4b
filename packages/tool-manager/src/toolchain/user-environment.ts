import { spawn } from 'node:child_process'
import { userInfo } from 'node:os'
import { delimiter } from 'node:path'
import { killGroup } from '../sandbox/running-program.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export type UserEnvironment = {
  env: Environment
  /** Why it is only this process's own, where the user's shell should have been asked. */
  problem?: string
}

export type UserEnvironmentOptions = { env?: Environment; shell?: string | undefined; timeoutMs?: number }

const TIMEOUT_MS = 5_000
const MARK = 'matrix-environment'

/**
 * The environment that the user's terminal has. A daemon that was started from one has it already; one that a service manager
 * started has a poor PATH, so the login shell is asked once, as editors do.
 */
export async function readUserEnvironment(options: UserEnvironmentOptions = {}): Promise<UserEnvironment> {
  const { timeoutMs = TIMEOUT_MS } = options
  const env = withoutNpm(options.env ?? process.env)
  const shell = options.shell ?? findShell(env)
  if (env.SHLVL !== undefined || !shell) return { env }
  const answer = await askShell(shell, env, timeoutMs)
  if (typeof answer === 'string') return { env, problem: `${shell} ${answer}; its PATH is not known` }
  // What the service was given counts; of the PATH after the shell's, since every service is given one.
  const path = [...new Set([answer.PATH, env.PATH].flatMap((text) => text?.split(delimiter) ?? []))]
  return { env: { ...answer, ...env, PATH: path.join(delimiter) } }
}

/** npm and npx put before the PATH what only the package that they run is meant to find. */
function withoutNpm(env: Environment): Environment {
  if (env.npm_config_user_agent === undefined) return env
  const path = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !/\/node_modules\/\.bin$|\/node-gyp-bin$/.test(folder))
  const own = Object.entries(env).filter(([name]) => !name.startsWith('npm_'))
  return { ...Object.fromEntries(own), PATH: path.join(delimiter) }
}

function findShell(env: Environment): string | undefined {
  try {
    return env.SHELL ?? userInfo().shell ?? undefined
  } catch {
    return undefined
  }
}

async function askShell(shell: string, env: Environment, timeoutMs: number): Promise<Record<string, string> | string> {
  const child = spawn(shell, ['-i', '-l', '-c', `printf '${MARK}\\0'; env -0; printf '${MARK}\\0'`], {
    env: { ...env },
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const how = await new Promise<string>((done) => {
    const timer = setTimeout(() => done(`did not answer within ${timeoutMs / 1000} s`), timeoutMs)
    const finish = (text: string) => {
      clearTimeout(timer)
      done(text)
    }
    child.once('error', ({ message }) => finish(`could not be started (${message})`))
    child.once('close', () => finish('answered nothing'))
  })
  if (child.pid !== undefined) killGroup(child.pid)
  return parseAnswer(output) ?? how
}

/** Start-up files of shells print greetings before and after. */
function parseAnswer(output: string): Record<string, string> | undefined {
  const [, text] = output.split(`${MARK}\0`)
  if (text === undefined) return undefined
  const pairs = text.split('\0').filter((line) => line.includes('='))
  return Object.fromEntries(pairs.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
