import { spawn } from 'node:child_process'
import { MatrixError } from '@matrix/protocol'
import { type BoxLaunch, spawnBoxed } from './box.ts'
import { hostsOf, networkOf } from './box-policy.ts'
import { BOXED } from './boxed.ts'
import { openEgress } from './egress-proxy.ts'
import { type Identity, resolveIdentity } from './identity.ts'
import { followChild, type RunningProgram } from './running-program.ts'
import { BUBBLEWRAP, checkSandbox, type SandboxStatus } from './self-test.ts'

/** `auto` boxes where the machine can, `required` runs nothing where it cannot, `off` never boxes. */
export type SandboxMode = 'auto' | 'required' | 'off'

export type Sandbox = {
  status: SandboxStatus
  /** Whether programs started here are boxed: what every status line shows. */
  isBoxing: boolean
  spawn(launch: BoxLaunch): Promise<RunningProgram>
}

export type SandboxOptions = {
  /** From the user's own settings, never from a repository's. */
  mode: SandboxMode
  /** Whether a person has agreed to run without a box where `auto` cannot have one. */
  unboxedAgreed?: boolean | undefined
  /** Whom boxes run as if the daemon is root. */
  identity?: Identity | undefined
}

/** Tests the machine once and starts programs as the mode says; where it may not, it starts nothing. */
export async function openSandbox({ mode, unboxedAgreed, identity }: SandboxOptions): Promise<Sandbox> {
  const as = resolveIdentity(identity)
  const status = mode === 'off' ? turnedOff : await checkSandbox({ identity: as })
  const mayRunUnboxed = mode === 'off' || (mode === 'auto' && unboxedAgreed === true)

  return {
    status,
    isBoxing: status.available,
    async spawn(launch) {
      if (status.available) return spawnWithEgress(launch, launch.policy.hasOwnRights ? undefined : as)
      if (mayRunUnboxed) return spawnUnboxed(launch)
      throw new MatrixError(
        'SANDBOX_UNAVAILABLE',
        `Nothing was started, because it cannot be boxed: ${status.reason}`,
        {
          hint: status.fix,
        },
      )
    },
  }
}

const turnedOff: SandboxStatus = {
  available: false,
  reason: 'The sandbox is turned off in the settings.',
  fix: 'Set "sandbox" to "auto" in your own settings.',
  version: undefined,
}

async function spawnWithEgress(launch: BoxLaunch, identity: Identity | undefined): Promise<RunningProgram> {
  if (networkOf(launch.policy) !== 'proxied') return spawnBoxed(launch, { bubblewrap: BUBBLEWRAP, identity })

  const { policy, onEgress } = launch
  const egress = await openEgress({ hosts: hostsOf(policy), identity, onDecision: onEgress })
  try {
    const running = await spawnBoxed(launch, { bubblewrap: BUBBLEWRAP, identity, egressSocket: egress.socket })
    void running.exited.then(egress.close)
    return { ...running, connectInside: egress.connectInside }
  } catch (error) {
    await egress.close()
    throw error
  }
}

/** The same program with the same environment and pipes, and nothing that holds it back. */
function spawnUnboxed({ program, args = [], env = {}, cwd, policy }: BoxLaunch): Promise<RunningProgram> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', HOME = '/' } = process.env
  const child = spawn(program, args, {
    cwd: cwd ?? policy.worktree,
    // What is not boxed must not be told that it is.
    env: { PATH, HOME, LANG: 'C.UTF-8', ...env, [BOXED]: undefined },
    detached: true,
    stdio: 'pipe',
  })
  return followChild(child, false)
}
