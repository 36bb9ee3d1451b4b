import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import { MatrixError } from '@matrix/protocol'
import type { BoxPolicy } from './box-policy.ts'
import { type BoxPlan, EGRESS_BRIDGE, formatArguments, formatLimits, planBox } from './bubblewrap.ts'
import { egressBridge, egressEnvironment } from './egress-bridge.ts'
import { checkAccess, checkReadable, type Identity } from './identity.ts'
import { isWithin } from './mount.ts'
import { leaseProtection } from './protected-path.ts'
import { followChild, type RunningProgram } from './running-program.ts'
import { formatFilter } from './seccomp-filter.ts'
import { planStage } from './stage.ts'
import { getMachine } from './system-call.ts'

/** A program to run, and what it may do. */
export type BoxLaunch = {
  /** Absolute; it is never looked for. */
  program: string
  args?: readonly string[] | undefined
  /** All that the program finds in its environment, beside where it may search and write. */
  env?: Record<string, string> | undefined
  cwd?: string | undefined
  policy: BoxPolicy
}

export type BoxContext = {
  bubblewrap: string
  identity?: Identity | undefined
  /** The socket of the agent's proxy, where the policy names hosts. */
  egressSocket?: string | undefined
}

const ARGUMENTS_FD = 3
const FILTER_FD = 4
const BRIDGE_FD = 5

/** Starts a program in the box that its policy describes. */
export async function spawnBoxed(launch: BoxLaunch, context: BoxContext): Promise<RunningProgram> {
  // The kernel ends a box when the thread that started it ends, and only the main one lives as long as the daemon.
  if (!isMainThread) throw new MatrixError('SANDBOX_REFUSED', 'A box is started from the main thread only.')

  const plan = planBox(launch.policy, launch)
  const { worktree } = plan
  if (context.identity) checkFiles(launch, plan, context.identity)
  const protection = worktree?.isWritable ? leaseProtection(worktree.path) : undefined
  try {
    const running = await followChild(startBubblewrap(launch, plan, protection?.paths ?? [], context), true)
    if (protection) void running.exited.then(protection.release)
    return running
  } catch (error) {
    protection?.release()
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
  const egress = context.egressSocket ? { socket: context.egressSocket, bridgeFd: BRIDGE_FD } : undefined
  const stage = planStage(plan.mounts, egress?.socket, context.identity)
  const args = formatArguments(plan, {
    env: { ...(egress && plan.filter.spawn ? egressEnvironment : {}), ...launch.env },
    protectedPaths,
    filterFd: FILTER_FD,
    egress,
    locate: stage.locate,
  })
  const [command = '', ...rest] = [
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
    stdio: Array.from({ length: egress ? 6 : 5 }, () => 'pipe' as const),
    ...stage.spawnAs,
  })
  const pipes = child.stdio as (Writable | null)[]
  // One that ends early closes its pipes while something is still being written to them.
  for (const pipe of pipes) pipe?.on('error', () => {})
  pipes[ARGUMENTS_FD]?.end(args)
  pipes[FILTER_FD]?.end(formatFilter(plan.filter, getMachine()))
  pipes[BRIDGE_FD]?.end(egressBridge)
  return child
}

function commandOf({ program, args = [] }: BoxLaunch, { network, filter }: BoxPlan): string[] {
  if (network !== 'proxied') return [program, ...args]
  if (basename(program) === 'node') return [program, '--require', EGRESS_BRIDGE, ...args]
  if (!filter.spawn)
    throw new MatrixError('SANDBOX_REFUSED', `${program} cannot be given a list of hosts without "shell".`, {
      hint: 'Run the server with node, or let it use the network without a list of hosts.',
    })
  return [process.execPath, EGRESS_BRIDGE, program, ...args]
}
