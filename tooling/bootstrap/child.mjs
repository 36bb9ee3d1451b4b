import { spawn } from 'node:child_process'

/** @type {NodeJS.Signals[]} */
const deadly = ['SIGINT', 'SIGTERM', 'SIGHUP']
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }
const ownGroup = process.platform !== 'win32'

/**
 * Runs one command to its end. `quiet` keeps the output for the caller instead of showing it.
 * When we are told to end, the child and everything it started ends first.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, quiet?: boolean, env?: NodeJS.ProcessEnv, shell?: boolean }} options
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runChild(command, args, { cwd, quiet = false, env = process.env, shell = false }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env,
      shell,
      stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      // turbo and npm sit behind launchers that die without telling the real process; a group of its own reaches all.
      detached: ownGroup,
    })
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      output += text
    })

    /** @type {NodeJS.Signals | undefined} */
    let ending
    /** @param {NodeJS.Signals} signal */
    const end = (signal) => {
      ending = signal
      signalGroup(child, signal)
    }
    for (const signal of deadly) process.on(signal, end)

    child.on('error', (error) => resolve({ code: 127, output: `${command} cannot be started: ${error.message}` }))
    child.on('close', async (code, signal) => {
      if (ending) await leave(child, ending)
      for (const name of deadly) process.off(name, end)
      resolve({ code: code ?? 1, output: signal ? `${output}\n${command} was ended by ${signal}.` : output })
    })
  })
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals | 0} signal
 */
function signalGroup(child, signal) {
  try {
    process.kill(ownGroup ? -Number(child.pid) : Number(child.pid), signal)
    return true
  } catch {
    return false
  }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
async function leave(child, signal) {
  const patienceMs = 5_000
  const deadline = Date.now() + patienceMs
  while (ownGroup && signalGroup(child, 0) && Date.now() < deadline) await new Promise((wake) => setTimeout(wake, 50))
  if (ownGroup) signalGroup(child, 'SIGKILL')
  process.exit(128 + (signalNumbers[/** @type {keyof typeof signalNumbers} */ (signal)] ?? 0))
}
