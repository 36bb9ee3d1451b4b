import { statSync } from 'node:fs'
import { delimiter } from 'node:path'
import { findToolchains, type ToolchainOptions, type Toolchains } from './toolchains.ts'
import { readUserEnvironment, type UserEnvironment } from './user-environment.ts'

export type OpenToolchains = {
  environment(): Promise<UserEnvironment>
  /** Looked for once, and again only after a folder of the PATH has changed. */
  current(): Promise<Toolchains>
}

/** The toolchains of one daemon, whichever of its sandboxes asks. */
export function openToolchains(options: Omit<ToolchainOptions, 'env'>): OpenToolchains {
  let asked: Promise<UserEnvironment> | undefined
  let cached: { stamp: string; found: Toolchains } | undefined
  const environment = () => {
    asked ??= readUserEnvironment()
    return asked
  }

  return {
    environment,
    async current() {
      const { env, problem } = await environment()
      const stamp = stampOf(env.PATH ?? '')
      if (cached?.stamp !== stamp) {
        const found = findToolchains({ ...options, env })
        if (problem) found.skipped.push({ path: 'PATH', reason: problem })
        cached = { stamp, found }
      }
      return cached.found
    },
  }
}

/** When each folder was last changed: a program that was added or removed changes its folder. */
function stampOf(path: string): string {
  return path.split(delimiter).map(changedAt).join()
}

function changedAt(folder: string): string {
  try {
    const { ino, mtimeMs } = statSync(folder)
    return `${ino}:${mtimeMs}`
  } catch {
    return ''
  }
}
