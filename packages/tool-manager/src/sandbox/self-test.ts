import { execFile } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CANARY_FD, spawnBoxed } from './box.ts'
import type { Identity } from './identity.ts'
import { LAUNCHER } from './launcher.ts'
import type { RunningProgram } from './running-program.ts'
import { findMachine } from './system-call.ts'

/** The one of the distribution, by its whole path: another `bwrap` that comes first in PATH could be anything. */
export const BUBBLEWRAP = '/usr/bin/bwrap'

/** Whether this machine can box tools; if not, why, and the one thing to do about it. */
export type SandboxStatus =
  | { available: true; version: string }
  | { available: false; reason: string; fix: string; version: string | undefined }

export type SelfTestOptions = { bubblewrap?: string | undefined; identity?: Identity | undefined }

const OLDEST = '0.8.0'
/** A busy machine is not one that cannot box. */
const PATIENCE_MS = 30_000

/** Builds a box and tries to get out of it: what a box is worth is known only after that. */
export async function checkSandbox({
  bubblewrap = BUBBLEWRAP,
  identity,
}: SelfTestOptions = {}): Promise<SandboxStatus> {
  if (process.platform !== 'linux')
    return unavailable(
      `Boxes need Linux, and this is ${process.platform}.`,
      'Run Matrix in a Linux machine or container.',
    )
  if (!findMachine())
    return unavailable(`Boxes need x86_64 or aarch64, and this is ${process.arch}.`, 'Run Matrix on one of these.')
  const missing = findMissing(bubblewrap)
  if (missing)
    return unavailable(
      `${missing} is missing.`,
      installCommand(missing === bubblewrap ? 'bubblewrap' : missing === LAUNCHER ? 'bash' : 'util-linux'),
    )

  const version = await readVersion(bubblewrap)
  if (!version || isOlder(version, OLDEST))
    return unavailable(
      `bubblewrap ${version ?? 'of unknown version'} is too old.`,
      installCommand('bubblewrap'),
      version,
    )

  const failure = await tryToEscape({ bubblewrap, identity })
  return failure ? unavailable(failure.reason, failure.fix, version) : { available: true, version }
}

/** Each is tried from inside and has to fail. */
const escapes = `
const fs = require('node:fs')
const [secret, outside, port, canary] = process.argv.slice(1)
const held = {}
const attempt = (name, act) => { try { act(); held[name] = false } catch { held[name] = true } }
attempt('read', () => fs.readFileSync(secret))
attempt('write', () => fs.writeFileSync(outside, ''))
attempt('system', () => fs.writeFileSync('/usr/matrix-canary', ''))
attempt('descriptor', () => fs.fstatSync(Number(canary)))
const socket = require('node:net').connect(Number(port), '127.0.0.1')
const finish = (isHeld) => { held.connect = isHeld; console.log(JSON.stringify(held)); process.exit() }
socket.on('connect', () => finish(false))
socket.on('error', () => finish(true))
`

const meaning: Record<string, string> = {
  read: 'a file outside could be read',
  write: 'a file could be written outside',
  system: 'the system could be written',
  descriptor: 'an open file of Matrix could be used',
  connect: 'the host’s loopback could be reached',
}

async function tryToEscape({ bubblewrap, identity }: SelfTestOptions & { bubblewrap: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-canary-'))
  const listener = createServer((socket) => socket.destroy())
  const canary = openSync(folder, 'r')
  try {
    const secret = join(folder, 'secret')
    writeFileSync(secret, 'canary')
    // Open to everyone outside, so that it is the box that holds and not the mode of a file.
    chmodSync(folder, 0o777)
    await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done))
    const { port } = listener.address() as AddressInfo
    const running = await spawnBoxed(
      {
        program: process.execPath,
        args: ['-e', escapes, secret, join(folder, 'written'), String(port), String(CANARY_FD)],
        policy: { sideEffects: [] },
      },
      { bubblewrap, identity, canary },
    )
    return explain(await readAll(running))
  } catch (error) {
    return { reason: `The box could not be built: ${(error as Error).message}`, fix: kernelFix() }
  } finally {
    closeSync(canary)
    listener.close()
    rmSync(folder, { recursive: true })
  }
}

function explain({ output, errors }: { output: string; errors: string }) {
  const held = parseHeld(output)
  if (!held) {
    const words = errors.trim().split('\n').at(-1) || 'it ended without a word'
    return { reason: `The box could not be built: ${words}`, fix: kernelFix() }
  }
  const broken = Object.keys(meaning).filter((name) => held[name] !== true)
  if (broken.length === 0) return undefined
  const what = broken.map((name) => meaning[name]).join(', ')
  return { reason: `The box does not hold: ${what}.`, fix: 'Report this with the output of matrix doctor.' }
}

function parseHeld(output: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}

async function readAll(running: RunningProgram): Promise<{ output: string; errors: string }> {
  const timer = setTimeout(() => void running.stop(0), PATIENCE_MS)
  const texts = await Promise.all(
    [running.stdout, running.stderr].map(async (stream) => Buffer.concat(await stream.toArray())),
  )
  clearTimeout(timer)
  await running.exited
  return { output: String(texts[0]), errors: String(texts[1]) }
}

function findMissing(bubblewrap: string): string | undefined {
  if (!lstatSync(bubblewrap, { throwIfNoEntry: false })?.isFile()) return bubblewrap
  const needed = [
    LAUNCHER,
    '/usr/bin/prlimit',
    '/usr/bin/setpriv',
    ...(process.getuid?.() === 0 ? ['/usr/bin/unshare'] : []),
  ]
  return needed.find((file) => !existsSync(file))
}

async function readVersion(bubblewrap: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)(bubblewrap, ['--version'], { env: {}, timeout: PATIENCE_MS }).catch(
    () => ({
      stdout: '',
    }),
  )
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0]
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  for (const [index, wanted] of (b ?? []).entries()) {
    const found = a?.[index] ?? 0
    if (found !== wanted) return found < wanted
  }
  return false
}

function installCommand(name: string): string {
  const release = readText('/etc/os-release')
  const family = /^ID(?:_LIKE)?=.*$/gm
  const ids = [...release.matchAll(family)].map(([line]) => line).join(' ')
  if (/fedora|rhel|centos/.test(ids)) return `sudo dnf install -y ${name}`
  if (/arch/.test(ids)) return `sudo pacman -S --noconfirm ${name}`
  if (/suse/.test(ids)) return `sudo zypper install -y ${name}`
  if (/alpine/.test(ids)) return `sudo apk add ${name}`
  return `sudo apt-get install -y ${name}`
}

/** The switch that most often forbids user namespaces, if it is one that can be seen. */
function kernelFix(): string {
  if (readText('/proc/sys/kernel/apparmor_restrict_unprivileged_userns').trim() === '1')
    return 'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'
  if (readText('/proc/sys/kernel/unprivileged_userns_clone').trim() === '0')
    return 'sudo sysctl -w kernel.unprivileged_userns_clone=1'
  if (readText('/proc/sys/user/max_user_namespaces').trim() === '0')
    return 'sudo sysctl -w user.max_user_namespaces=15000'
  return 'Allow user namespaces; in Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined.'
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function unavailable(reason: string, fix: string, version?: string): SandboxStatus {
  return { available: false, reason, fix, version }
}
