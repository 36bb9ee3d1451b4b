import { type IOType, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import { MatrixError } from '@matrix/protocol'
import type { BoxPolicy } from './box-policy.ts'
import { type BoxPlan, EGRESS_BRIDGE, formatArguments, formatLimits, isNode, planBox } from './bubblewrap.ts'
import { egressBridge, egressEnvironment } from './egress-bridge.ts'
import type { EgressDecision } from './egress-proxy.ts'
import { checkAccess, checkReadable, type Identity } from './identity.ts'
import { launcherPrefix } from './launcher.ts'
import { isWithin } from './mount.ts'
import { leaseProtection } from './protected-path.ts'
import { followChild, type RunningProgram } from './running-program.ts'
import { openScratch } from './scratch.ts'
import { formatFilter } from './seccomp-filter.ts'
import { planStage } from './stage.ts'
import { getMachine } from './system-call.ts'
import { systemFiles } from './system-files.ts'

/** A program to run, and what it may do. */
export type BoxLaunch = {
  /** Absolute; it is never looked for. */
  program: string
  args?: readonly string[] | undefined
  /** All that the program finds in its environment, beside where it may search and write. */
  env?: Record<string, string> | undefined
  cwd?: string | undefined
  policy: BoxPolicy
  /** Told of everything that the program asks of the network. */
  onEgress?: ((decision: EgressDecision) => void) | undefined
}

export type BoxContext = {
  bubblewrap: string
  identity?: Identity | undefined
  /** The socket of the agent's proxy, where the policy has one. */
  egressSocket?: string | undefined
  /** A descriptor that is left open on purpose, at CANARY_FD: it must not be found inside. */
  canary?: number | undefined
}

const ARGUMENTS_FD = 3
const FILTER_FD = 4
const FIRST_FILE_FD = 5
/** Far above those that Node marks by itself. */
export const CANARY_FD = 68

/** Starts a program in the box that its policy describes. */
export async function spawnBoxed(launch: BoxLaunch, context: BoxContext): Promise<RunningProgram> {
  // The kernel ends a box when the thread that started it ends, and only the main one lives as long as the daemon.
  if (!isMainThread) throw new MatrixError('SANDBOX_REFUSED', 'A box is started from the main thread only.')

  const { identity } = context
  const scratch = launch.policy.scratch ? openScratch(launch.policy.scratch, identity) : undefined
  const held: { release(): void }[] = [{ release: () => void scratch?.remove() }]
  const release = () => {
    for (const each of held) each.release()
  }
  try {
    const plan = planBox({ ...launch.policy, scratch: scratch?.folder }, launch)
    const { worktree } = plan
    if (identity) checkFiles(launch, plan, identity)
    const isProtected = worktree?.isWritable || plan.overlays.length > 0
    const protection = worktree && isProtected ? leaseProtection(worktree.path) : undefined
    if (protection) held.push(protection)
    const running = await followChild(startBubblewrap(launch, plan, protection?.paths ?? [], context), true)
    void running.exited.then(release)
    return running
  } catch (error) {
    release()
    throw error
  }
}

/** What the program works on and, as far as its arguments name it, what it is made of. */
function checkFiles({ args = [], policy }: BoxLaunch, { worktree }: BoxPlan, identity: Identity): void {
  if (worktree) checkAccess(worktree.path, worktree.isWritable, identity)
  for (const root of policy.readable ?? [])
    for (const path of [root, ...args.filter((text) => isWithin(text, root) && existsSync(text))])
      checkReadable(path, root, identity)
}

function startBubblewrap(launch: BoxLaunch, plan: BoxPlan, protectedPaths: readonly string[], context: BoxContext) {
  const { egressSocket: socket, identity } = context
  const files = [
    ...systemFiles(identity ?? ownIdentity()),
    ...plan.files,
    ...(socket ? [{ target: EGRESS_BRIDGE, text: egressBridge }] : []),
  ]
  const stage = planStage([...plan.mounts, ...plan.overlays], socket, identity)
  const args = formatArguments(plan, {
    env: { ...(socket && plan.filter.spawn ? egressEnvironment : {}), ...launch.env },
    protectedPaths,
    filterFd: FILTER_FD,
    egressSocket: socket,
    files: files.map(({ target }, index) => ({ target, fd: FIRST_FILE_FD + index })),
    locate: stage.locate,
  })
  const pipeCount = FIRST_FILE_FD + files.length
  const [command = '', ...rest] = [
    ...launcherPrefix({ lastDescriptor: pipeCount - 1 }),
    ...stage.prefix,
    ...[context.bubblewrap, '--args', String(ARGUMENTS_FD), '--'],
    ...formatLimits(plan.limits),
    ...commandOf(launch, plan),
  ]
  const child = spawn(command, rest, {
    // The environment of bubblewrap itself can be read in the box, in /proc/1/environ.
    env: {},
    cwd: '/',
    detached: true,
    stdio: listDescriptors(pipeCount, context.canary),
    ...stage.spawnAs,
  })
  const pipes = child.stdio as (Writable | null)[]
  // One that ends early closes its pipes while something is still being written to them.
  for (const pipe of pipes) pipe?.on('error', () => {})
  pipes[ARGUMENTS_FD]?.end(args)
  pipes[FILTER_FD]?.end(formatFilter(plan.filter, getMachine()))
  for (const [index, { text }] of files.entries()) pipes[FIRST_FILE_FD + index]?.end(text)
  return child
}

function listDescriptors(pipeCount: number, canary: number | undefined): (IOType | number)[] {
  const pipes = Array.from({ length: pipeCount }, (): IOType => 'pipe')
  if (canary === undefined) return pipes
  return [...pipes, ...Array.from({ length: CANARY_FD - pipeCount }, (): IOType => 'ignore'), canary]
}

function ownIdentity(): Identity {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
}

function commandOf({ program, args = [] }: BoxLaunch, { network }: BoxPlan): string[] {
  if (network !== 'proxied') return [program, ...args]
  if (isNode(program)) return [program, '--require', EGRESS_BRIDGE, ...args]
  return [process.execPath, EGRESS_BRIDGE, program, ...args]
}
