import { constants } from 'node:fs'
import { access, readFile, realpath, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import {
  digestBytes,
  findInjectedCode,
  isOwnServer,
  isPlaceholderDigest,
  type Launcher,
  type LockedPackage,
  parseLauncher,
  readAssignments,
  type StdioServer,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { builtinLaunch } from './builtin/builtin-launch.ts'
import { getServerFile } from './builtin/server-file.ts'
import { storeBundle } from './bundle-store.ts'
import { digestLoaded, loadsBeside } from './loaded-files.ts'
import type { GetPackageOptions, PackageStore, StoredPackage } from './package-store.ts'
import { isWithin } from './sandbox/mount.ts'
import { environmentOf, findScriptInterpreter, type Interpreter, openInterpreter } from './script-interpreter.ts'

/** What is really started for a server: verified bytes, by absolute path. */
export type ServerLaunch = {
  program: string
  args: string[]
  /** What the box must be able to read for it. */
  readable: string[]
  /** What it may start even without `shell`. */
  programs?: readonly string[] | undefined
  /** The same for a lock: the entry relative to its package, references unresolved. */
  locked: { command: string; args: string[] }
  package: LockedPackage
  /** Matrix's own tools. */
  isBuiltin?: true
  /** The manifest has a placeholder where the digest belongs, so that the bytes are anybody's. */
  isPlaceholder: boolean
}

/** Lock files of packages by the digest that a lock has for their dependencies. */
export type LockFiles = Readonly<Record<string, unknown>>

export type LaunchOptions = GetPackageOptions & {
  store: PackageStore
  /** Runs servers whose digest is a placeholder. */
  bootstrap?: boolean | undefined
  /** Where relative files of the manifest start. */
  base?: string | undefined
  worktree?: string | undefined
  /** The declared arguments with their references resolved; as declared when absent. */
  args?: readonly string[] | undefined
  /** What a lock says about the package, beyond its digest. */
  locked?: LockedPackage | undefined
  lockFiles?: LockFiles | undefined
}

/** Turns a declared command into verified bytes. Nothing that cannot be verified is ever started. */
export async function resolveLaunch(server: StdioServer, options: LaunchOptions): Promise<ServerLaunch> {
  const isPlaceholder = isPlaceholderDigest(server.package_digest)
  if (isPlaceholder && !options.bootstrap)
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${server.alias}" has a placeholder instead of a package digest.`, {
      hint: 'Fill it in with matrix digest or matrix lock, or pass --bootstrap to run it once anyway.',
    })
  if (isOwnServer(server)) return launchBuiltin(server, { ...options, isPlaceholder })
  assertNoInjection(server, options.worktree)
  if (/\.(?:mcpb|dxt)$/.test(server.command)) return launchBundle(server, { ...options, isPlaceholder })
  const launcher = parseLauncher(server.command, server.args ?? [])
  if (launcher.kind === 'unclear')
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `It cannot be told what "${server.alias}" starts: ${launcher.why}.`, {
      hint: plainLauncher,
    })
  if (launcher.kind !== 'package') return launchFile(server, launcher, { ...options, isPlaceholder })
  if (launcher.ecosystem === 'npm') return launchNpm(server, launcher, { ...options, isPlaceholder })
  throw new MatrixError(
    'PACKAGE_UNVERIFIABLE',
    `"${server.alias}" comes from ${ecosystems[launcher.ecosystem]}, and its bytes cannot be verified on this machine.`,
    { hint: 'Use a server that is published on npm or runs from a local file.' },
  )
}

/** The bytes that were verified are not all that would run. */
function assertNoInjection({ alias, command, args = [], env }: StdioServer, worktree: string | undefined): void {
  const found = findInjectedCode({ command, args, env: readAssignments(env), worktree })
  const injection = found.find(({ severity }) => severity === 'error')
  if (!injection) return
  throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" would run more than what is pinned: ${injection.what}.`, {
    hint: 'Take it out of the manifest (rule MX031), and put the code into the package.',
  })
}

async function launchBuiltin(server: StdioServer, options: Options): Promise<ServerLaunch> {
  const { command, args = [], version } = server
  const file = getServerFile()
  const digest = digestBytes(await readFile(file))
  if (!options.isPlaceholder && digest !== server.package_digest)
    throw new MatrixError(
      'PACKAGE_MISMATCH',
      `${file} has the digest ${digest}, but ${server.package_digest} was pinned.`,
      {
        hint: 'The manifest is for another version of Matrix: take the shipped one, or pin the digest that is named.',
      },
    )
  const root = options.worktree ?? options.base ?? process.cwd()
  const {
    program,
    args: started = [],
    policy,
  } = await builtinLaunch({ root, serverFile: file, sideEffects: [], version })
  return {
    program,
    args: [...started],
    readable: [...(policy.readable ?? [])],
    programs: policy.programs,
    locked: { command, args: [...args] },
    package: { ecosystem: 'file', name: basename(file), version, digest },
    isBuiltin: true,
    isPlaceholder: options.isPlaceholder,
  }
}

const plainLauncher = 'Write the launcher itself: "command": "npx", "args": ["-y", "<package>@<version>", …].'
const ecosystems = { pypi: 'PyPI', oci: 'a container registry', nuget: 'NuGet' }

type Options = LaunchOptions & { isPlaceholder: boolean }
type Of<Kind> = Extract<Launcher, { kind: Kind }>

async function launchNpm(server: StdioServer, launcher: Of<'package'>, options: Options): Promise<ServerLaunch> {
  const { alias, args = [], version } = server
  const { name, spec, argument, others } = launcher
  const named = args[argument] ?? ''
  if (named !== spec && named !== `--package=${spec}`)
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" starts ${name} through another program.`, {
      hint: plainLauncher,
    })
  if (others.length > 0)
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" starts other packages beside ${name}.`, {
      hint: plainLauncher,
    })
  const program = programName(args, launcher)
  const rest = args.slice(argument + (program === undefined ? 1 : 2))
  const stored = await options.store.getPackage(
    {
      name,
      version,
      digest: options.isPlaceholder ? undefined : server.package_digest,
      integrity: options.locked?.integrity,
      dependencies_digest: options.locked?.dependencies_digest,
      lockFile: options.lockFiles?.[options.locked?.dependencies_digest ?? ''],
    },
    options,
  )
  const entry = programOf(stored, program)
  const { digest, integrity, dependencies_digest } = stored
  return {
    program: process.execPath,
    args: [join(stored.folder, entry), ...(options.args ?? args).slice(args.length - rest.length)],
    readable: [stored.folder],
    locked: { command: 'node', args: [entry, ...rest] },
    package: { ecosystem: 'npm', name, version, digest, integrity, dependencies_digest },
    isPlaceholder: options.isPlaceholder,
  }
}

/** `npx -p package program`: the program is named apart from the package. */
function programName(args: readonly string[], { argument }: Of<'package'>): string | undefined {
  const isApart = /^(?:-p|--package)$/.test(args[argument - 1] ?? '') || /^--package=/.test(args[argument] ?? '')
  return isApart ? args[argument + 1] : undefined
}

function programOf({ name, version, programs }: StoredPackage, named: string | undefined): string {
  const names = Object.keys(programs)
  const chosen = named ?? (names.length === 1 ? names[0] : name.replace(/^.*\//, ''))
  const file = chosen !== undefined && Object.hasOwn(programs, chosen) ? programs[chosen] : undefined
  if (file !== undefined) return file
  throw new MatrixError('PACKAGE_UNAVAILABLE', `${name}@${version} has no program ${JSON.stringify(chosen ?? name)}.`, {
    hint: names.length > 0 ? `It has ${names.join(', ')}.` : 'It is a library and cannot be started.',
  })
}

/** A bundle by the digest of its file, started from the store as its own manifest says, with the declared arguments behind. */
async function launchBundle(server: StdioServer, options: Options): Promise<ServerLaunch> {
  const { alias, command, args = [], version } = server
  const { base = process.cwd(), store, isPlaceholder } = options
  const bytes = await readFile(await findFile(alias, resolve(base, command)))
  const digest = digestBytes(bytes)
  if (!isPlaceholder && digest !== server.package_digest) throw otherBytes(command, digest, server.package_digest)
  const { locked, isFull } = options
  const { folder, manifest, files_digest } = await storeBundle({
    root: store.folder,
    digest,
    bytes,
    pinned: locked?.files_digest,
    isFull,
  })
  if (manifest.version !== version)
    throw new MatrixError('PACKAGE_MISMATCH', `${command} is version ${manifest.version}, but ${version} was pinned.`)
  const { entry_point: entry, mcp_config: config = { command: 'node', args: [`\${__dirname}/${entry}`] } } =
    manifest.server
  const [program = '', ...own] = [config.command, ...config.args].map((text) => text.replaceAll('${__dirname}', folder))
  const open = [program, ...own].find((text) => text.includes('${'))
  if (open !== undefined)
    throw new MatrixError(
      'PACKAGE_UNVERIFIABLE',
      `"${alias}" wants settings of its own: ${open.replace(folder, '…')}.`,
      {
        hint: 'Import the bundle with matrix import, which turns its settings into arguments and variables.',
      },
    )
  return {
    program: await findProgram(alias, program, folder),
    args: [...own, ...(options.args ?? args)],
    readable: [folder],
    locked: { command, args: [...args] },
    package: { ecosystem: 'mcpb', name: basename(command), version, digest, files_digest },
    isPlaceholder,
  }
}

function otherBytes(what: string, found: string, pinned: string): MatrixError {
  return new MatrixError('PACKAGE_MISMATCH', `${what} has the digest ${found}, but ${pinned} was pinned.`)
}

/** A script or program of this machine, held against its digest each time before it is started. */
async function launchFile(
  server: StdioServer,
  launcher: Of<'script'> | Of<'program'>,
  options: Options,
): Promise<ServerLaunch> {
  const { base = process.cwd(), worktree, isPlaceholder, args: resolved } = options
  const { alias, args = [], version, package_digest: pinned } = server
  const isScript = launcher.kind === 'script'
  const file = isScript
    ? await findFile(alias, resolve(base, launcher.file))
    : await findProgram(alias, launcher.file, base)
  if (worktree && isWithin(file, worktree))
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" would run ${file}, which the agent itself can change.`, {
      hint: 'Keep servers outside of the worktree.',
    })
  const digest = digestBytes(await readFile(file))
  if (!isPlaceholder && digest !== pinned) throw otherBytes(file, digest, pinned)
  const find = (command: string) => findProgram(alias, command, base)
  const interpreter = isScript
    ? await openInterpreter(server.command, [], find)
    : await findScriptInterpreter(file, find)
  assertInterpreter(interpreter, options.locked)
  const folder = environmentOf(file) ?? (await packageFolder(file))
  const files_digest = await digestBeside(file, folder, options)
  const given = resolved ?? args
  const behind = isScript ? given.map((text, index) => (index === launcher.argument ? file : text)) : [file, ...given]
  return {
    program: interpreter?.program ?? file,
    args: interpreter ? [...interpreter.args, ...behind] : [...given],
    readable: [folder, ...(interpreter?.readable ?? [])],
    locked: { command: server.command, args: [...args] },
    package: {
      ...{ ecosystem: 'file' as const, name: launcher.file, version, digest },
      ...(files_digest && { files_digest }),
      ...(interpreter?.digest !== undefined && { interpreter_digest: interpreter.digest }),
    },
    isPlaceholder,
  }
}

/** What runs a script decides what it does: another one than the locked is refused. */
function assertInterpreter(interpreter: Interpreter | undefined, locked: LockedPackage | undefined): void {
  const pinned = locked?.interpreter_digest
  if (pinned === undefined || interpreter?.digest === pinned) return
  throw new MatrixError(
    'PACKAGE_MISMATCH',
    `${interpreter?.program ?? 'The interpreter'} is not the one that was locked.`,
    {
      hint: 'If it was updated, add the agent again, or run matrix lock again.',
    },
  )
}

/** What a file server can load is all that its sandbox shows of its folder: a lock holds one digest of it. */
async function digestBeside(
  file: string,
  folder: string,
  { store, locked, bootstrap, isFull, worktree }: Options,
): Promise<string | undefined> {
  const pinned = locked?.files_digest
  if (pinned === undefined && (locked || !bootstrap)) return undefined
  if (folder !== file && (await loadsBeside(file)))
    return digestLoaded({
      folder,
      listings: join(store.folder, 'listings'),
      pinned,
      isFull,
      worktree,
      hint: 'If the change is wanted, run matrix lock again. Keep a server in a folder of its own, with a package.json.',
    })
  if (pinned === undefined) return undefined
  throw new MatrixError('PACKAGE_MISMATCH', `The lock holds files beside ${file}, which would no longer be loaded.`)
}

async function findFile(alias: string, file: string): Promise<string> {
  const found = await realpath(file).catch(() => undefined)
  if (found && (await stat(found)).isFile()) return found
  throw new MatrixError('PACKAGE_UNAVAILABLE', `"${alias}" runs ${file}, which does not exist.`, {
    hint: 'Correct the path in the manifest; relative ones start at its folder.',
  })
}

async function findProgram(alias: string, command: string, base: string): Promise<string> {
  if (command === 'node') return process.execPath
  if (isAbsolute(command) || command.includes('/')) return findFile(alias, resolve(base, command))
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, command)
    const isThere =
      isAbsolute(folder) &&
      (await access(file, constants.X_OK).then(
        () => true,
        () => false,
      ))
    if (isThere && (await stat(file)).isFile()) return realpath(file)
  }
  throw new MatrixError('PACKAGE_UNAVAILABLE', `"${alias}" runs ${command}, which is not installed.`, {
    hint: `Install ${command}, or name it by its full path.`,
  })
}

/** The nearest folder with a package.json, since a script reads what lies beside it; never a whole home. */
async function packageFolder(file: string): Promise<string> {
  const home = process.env.HOME ?? '/'
  for (let folder = dirname(file); !isWithin(home, folder); folder = dirname(folder)) {
    const isPackage = await access(join(folder, 'package.json')).then(
      () => true,
      () => false,
    )
    if (isPackage) return folder
  }
  return dirname(file) === '/' || isWithin(home, dirname(file)) ? file : dirname(file)
}
