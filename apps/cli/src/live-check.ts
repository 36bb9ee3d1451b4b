import {
  formatBijection,
  isOwnServer,
  isPlaceholderDigest,
  type LockedServer,
  type Problem,
  parseLauncher,
  type StdioServer,
} from '@matrix/manifest'
import { bootTools, type ServerReport, type Verification } from '@matrix/tool-manager'
import type { AgentFile } from './agent-file.ts'
import type { LiveServer } from './report.ts'
import { openWorkbench, type WorkbenchOptions } from './workbench.ts'

export type LiveCheck = { servers: LiveServer[]; problems: Problem[] }

/** Starts every server of an agent, sandboxed and in an empty folder, or reaches it where it is remote, and holds what it advertises against what is declared. */
export async function checkLive(agent: AgentFile, options: WorkbenchOptions): Promise<LiveCheck> {
  const verifications = new Map<string, Verification>()
  const bench = await openWorkbench({
    ...options,
    lockFiles: agent.lockFiles,
    isFull: true,
    onEvent: (event) => {
      if (event.type === 'server_checked') verifications.set(event.alias, event.verification)
    },
  })
  try {
    const { manifest, lock, policy, base, serversPath } = agent
    const tools = bootTools({ pool: bench.pool, manifest, lock, policy, base, worktree: bench.emptyFolder })
    const reports = await tools.connectAll()
    const servers = reports.map((report) =>
      liveServer(report, verifications.get(report.alias), howRun(agent, report, bench.isBoxing)),
    )
    const problems = reports.flatMap((report, index) =>
      problemsOf(report, verifications.get(report.alias), [...serversPath, index]),
    )
    return { servers, problems }
  } finally {
    await bench.close()
  }
}

type HowRun = Pick<LiveServer, 'way' | 'hasVerifiedBytes'>

function howRun({ manifest, lock }: AgentFile, { alias, status }: ServerReport, isBoxing: boolean): HowRun {
  const server = manifest.servers.find((each) => each.alias === alias)
  if (server?.transport !== 'stdio') return { way: 'remote', hasVerifiedBytes: false }
  const isPinned = !isPlaceholderDigest(server.package_digest) && isWhole(server, lock?.servers[alias])
  const hasVerifiedBytes = status === 'verified' && isPinned
  return { way: isBoxing ? 'sandboxed' : 'unsandboxed', hasVerifiedBytes }
}

/** A manifest pins one file of a local server; only a lock holds what that file loads. */
function isWhole(server: StdioServer, locked: LockedServer | undefined): boolean {
  if (isOwnServer(server) || parseLauncher(server.command, server.args ?? []).kind === 'package') return true
  if (/\.(?:mcpb|dxt)$/.test(server.command)) return true
  return locked?.transport === 'stdio' && locked.package.files_digest !== undefined
}

function liveServer(report: ServerReport, verification: Verification | undefined, how: HowRun): LiveServer {
  const { alias, tookMs, status } = report
  const rows = verification?.rows ?? []
  return {
    alias,
    status,
    ...how,
    tookMs: Math.round(tookMs),
    ...(verification && { tools: rows }),
    ...(rows.some(({ state }) => state !== 'same') && { table: formatBijection({ problems: [], rows }) }),
    ...(status !== 'verified' && { error: { code: report.error.code, message: report.error.message } }),
  }
}

function problemsOf(
  report: ServerReport,
  verification: Verification | undefined,
  path: (string | number)[],
): Problem[] {
  const found = (verification?.problems ?? []).map((problem) => ({ ...problem, path: [...path, ...problem.path] }))
  if (report.status === 'verified' || found.length > 0) return found
  const { code, message, hint } = report.error
  if (code === 'PACKAGE_MISMATCH') return [{ rule: 'MX006', path: [...path, 'package_digest'], message, fix: hint }]
  if (code === 'TOOL_DRIFT') return [{ rule: 'MX021', path: [...path, 'alias'], message, fix: hint }]
  return [{ rule: 'MX020', path: [...path, 'alias'], message, fix: hint }]
}
