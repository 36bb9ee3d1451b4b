import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { formatBytes } from '@matrix/protocol/display'
import type { Sandbox } from '@matrix/tool-manager'

/** What the sandboxes of one project keep on disk. */
export type ProjectStorage = { projectId: string; home: string; homeBytes: number; worktreesBytes: number }

/** Can be fetched or built again, by whatever keeps it there. */
const caches = [
  ...[
    '.cache',
    '.npm',
    '.cargo/registry',
    '.cargo/git',
    'go/pkg',
    '.gradle/caches',
    '.m2/repository',
    '.yarn',
    '.nuget',
  ],
  ...['.local/share/pnpm/store', '.bun/install/cache', '.ivy2/cache', '.gem', '.deno', '.pnpm-store'],
]

/** Every project that has a home, with what it holds. */
export async function measureProjects(dataDirectory: string): Promise<ProjectStorage[]> {
  const projects = join(dataDirectory, 'projects')
  const names = await readdir(projects).catch(() => [])
  const found = await Promise.all(names.map((projectId) => measureProject(join(projects, projectId), projectId)))
  return found.filter(({ homeBytes }) => homeBytes > 0)
}

async function measureProject(directory: string, projectId: string): Promise<ProjectStorage> {
  const home = join(directory, 'home')
  const [homeBytes, worktreesBytes] = await Promise.all([measure(home), measure(join(directory, 'worktrees'))])
  return { projectId, home, homeBytes, worktreesBytes }
}

async function measure(folder: string): Promise<number> {
  // It counts what it can read and then complains about the rest.
  const { stdout } = await promisify(execFile)('du', ['-sk', folder]).catch((error) => ({
    stdout: String(error.stdout),
  }))
  return (Number.parseInt(stdout, 10) || 0) * 1024
}

/** Empties the caches of a home, or all of it. From a sandbox: links that an agent has left there lead nowhere else. */
export async function cleanHome(sandbox: Sandbox, home: string, { all = false } = {}): Promise<void> {
  const what = all ? 'find . -mindepth 1 -maxdepth 1 -print0' : `printf '%s\\0' ${caches.join(' ')}`
  const remove = `cd ~ && ${what} | xargs -0 -r sh -c 'chmod -R u+rwX "$@" 2>/dev/null; rm -rf -- "$@"' sh`
  const running = await sandbox.spawn({
    program: '/bin/sh',
    args: ['-c', remove],
    env: { PATH: '/usr/bin:/bin' },
    policy: { sideEffects: ['shell'], home },
  })
  running.stdout.resume()
  running.stderr.resume()
  await running.exited
}

export type HomeKeeper = {
  /** Has held the home to its limit, as far as that can be done before it is used. */
  keep(home: string, limitBytes: number): Promise<void>
}

/**
 * Holds homes to their limit. Each is measured while work goes on, and its caches are emptied the next time that Matrix starts and
 * nothing in it is in use.
 */
export function openHomeKeeper(sandbox: Sandbox, onOver: (message: string) => void): HomeKeeper {
  const kept = new Map<string, Promise<void>>()

  async function keep(home: string, limitBytes: number): Promise<void> {
    const note = `${home}.size`
    const before = Number(await readFile(note, 'utf8').catch(() => '0'))
    if (before > limitBytes) {
      await cleanHome(sandbox, home)
      onOver(`${home} held ${formatBytes(before)}, more than cacheLimitGb allows. Its caches were emptied.`)
    }
    void measure(home).then(async (bytes) => {
      await writeFile(note, String(bytes), { mode: 0o600 }).catch(() => {})
      if (bytes <= limitBytes) return
      onOver(`${home} holds ${formatBytes(bytes)}, more than cacheLimitGb allows. Run matrix projects clean.`)
    })
  }

  return {
    keep(home, limitBytes) {
      const keeping = kept.get(home) ?? keep(home, limitBytes)
      kept.set(home, keeping)
      return keeping
    },
  }
}
