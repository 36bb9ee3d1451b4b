import { parse } from 'yaml'

const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64']

type Lockfile = {
  packages: Record<string, { os?: string[]; cpu?: string[] }>
  snapshots: Record<string, { optionalDependencies?: Record<string, string> }>
}

/**
 * Native tools in the lockfile that lack a build some contributor needs. pnpm drops such a build without a word where
 * the registry it resolves from does not have it, and the tool then cannot start on that platform.
 */
export function findMissingBuilds(text: string): string[] {
  const { packages, snapshots }: Lockfile = parse(text)

  return Object.entries(snapshots).flatMap(([tool, { optionalDependencies = {} }]) => {
    const builds = Object.entries(optionalDependencies).flatMap(([name, version]) =>
      platformsOf(packages, name, version),
    )
    if (builds.length === 0) return []

    return platforms
      .filter((platform) => !builds.includes(platform))
      .map((platform) => `${tool} has no ${platform} build`)
  })
}

/** Lines that tie an install to one registry or host. */
export function findHosts(text: string): string[] {
  return text
    .split('\n')
    .map((line, index) => `${index + 1}: ${line.trim()}`)
    .filter((line) => /\w+:\/\/|\btarball:|^\d+: (@[\w-]+:)?registry\s*[=:]/.test(line))
}

/** A package for one operating system only, such as fsevents, is no build of a tool: a build names its processor too. */
function platformsOf(packages: Lockfile['packages'], name: string, version: string): string[] {
  // The version may carry the peers it was resolved with.
  const { os = [], cpu = [] } = packages[`${name}@${version.replace(/\(.*/, '')}`] ?? {}
  return os.flatMap((system) => cpu.map((processor) => `${system}-${processor}`))
}
