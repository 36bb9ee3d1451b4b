import { existsSync } from 'node:fs'
import { open, readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { digestBytes } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { isSystemPath } from './sandbox/mount.ts'
import { installationOf } from './toolchain/installation.ts'

/** What runs a script: the program itself, by the digest of its bytes. */
export type Interpreter = {
  program: string
  /** What the script's first line gives it before the script. */
  args: string[]
  /** Undefined for the Node that Matrix itself runs on. */
  digest: string | undefined
  readable: string[]
}

type Find = (command: string) => Promise<string>

/** What the first line of a script asks for; undefined for a program that needs nothing to run it. */
export async function findScriptInterpreter(file: string, find: Find): Promise<Interpreter | undefined> {
  const line = await readFirstLine(file)
  if (!line.startsWith('#!')) return undefined
  const [program = '', ...args] = line.slice(2).trim().split(/\s+/)
  if (basename(program) !== 'env') return openInterpreter(program, args, find)
  const [named = '', ...rest] = args[0] === '-S' ? args.slice(1) : args
  return openInterpreter(named, rest, find)
}

/** The interpreter that a command names, behind the shims of a version manager. */
export async function openInterpreter(command: string, args: string[], find: Find): Promise<Interpreter> {
  const found = await find(command)
  if (found === process.execPath) return { program: found, args, digest: undefined, readable: [] }
  const program = await behindShim(found)
  const real = await realpath(program)
  const environment = environmentOf(program)
  const installation = isSystemPath(real) ? [] : installationOf(dirname(real), { home: homedir(), kept: [] })
  return {
    // An environment is known by the path of its own interpreter, which is a link.
    program: environment ? program : real,
    args,
    digest: digestBytes(await readFile(real)),
    readable: [...(environment ? [environment] : []), ...installation],
  }
}

/** The Python environment that a program is installed in, if it is in one. */
export function environmentOf(program: string): string | undefined {
  const folder = dirname(dirname(program))
  return existsSync(join(folder, 'pyvenv.cfg')) ? folder : undefined
}

/** A shim works out at each start what it runs; here it is what is chosen for all projects. */
async function behindShim(found: string): Promise<string> {
  const folder = dirname(found)
  if (basename(folder) !== 'shims') return found
  const root = dirname(folder)
  const chosen = await readFile(join(root, 'version'), 'utf8').catch(() => '')
  const version = chosen.split('\n')[0]?.trim() ?? ''
  const program = join(root, 'versions', version, 'bin', basename(found))
  if (version !== '' && !version.includes('/') && existsSync(program)) return program
  throw new MatrixError('PACKAGE_UNVERIFIABLE', `${found} only chooses another program when it is started.`, {
    hint: `Name the program itself by its full path, such as ${join(root, 'versions/<version>/bin', basename(found))}.`,
  })
}

async function readFirstLine(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0)
    return buffer.toString('latin1', 0, bytesRead).split('\n')[0] ?? ''
  } finally {
    await handle.close()
  }
}
