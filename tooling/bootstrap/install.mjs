import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { runChild } from './child.mjs'
import { readPackage } from './workspace.mjs'

const installArgs = [
  'install',
  '--frozen-lockfile',
  '--prefer-offline',
  '--reporter=append-only',
  // Nobody is there to answer when a node_modules of another kind has to make way.
  '--config.confirmModulesPurge=false',
  '--config.fetchRetries=2',
  '--config.fetchRetryMintimeout=1000',
]

const nodePrefix = dirname(dirname(process.execPath))
const env = {
  // With the headers that came with this Node, a native module compiles without asking nodejs.org for them.
  ...(existsSync(join(nodePrefix, 'include/node/node_api.h')) && { npm_config_nodedir: nodePrefix }),
  ...process.env,
}

/**
 * Installs exactly what the lockfile says with the pinned pnpm, which npm fetches if it is not here yet.
 * @param {string} root
 */
export function install(root) {
  const version = pinnedPnpm(root)
  const installed = join(root, 'node_modules/pnpm')
  if (existsSync(join(installed, 'package.json')) && readVersion(installed) === version)
    return runChild(process.execPath, [join(installed, 'bin/pnpm.cjs'), ...installArgs], {
      cwd: root,
      env,
      quiet: true,
    })

  const npm = npmCommand()
  const exec = ['exec', '--yes', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', `--package=pnpm@${version}`]
  return runChild(npm.command, [...npm.args, ...exec, '--', 'pnpm', ...installArgs], {
    cwd: root,
    env,
    quiet: true,
    shell: npm.shell,
  })
}

/** @param {string} root */
export function pinnedPnpm(root) {
  const [, version = ''] = /^pnpm@([^+]+)/.exec(readPackage(root).packageManager ?? '') ?? []
  return version
}

/** @param {string} folder */
function readVersion(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version
}

/** Started by npm we know its script and need no shell; on Windows `npm` itself is a .cmd file, which only a shell can start. */
function npmCommand() {
  const { npm_execpath: script = '' } = process.env
  if (basename(script) === 'npm-cli.js') return { command: process.execPath, args: [script], shell: false }

  return { command: 'npm', args: [], shell: process.platform === 'win32' }
}
