import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isLiteralCredential } from '@matrix/manifest'
import { isWithin } from '../sandbox/mount.ts'
import { HOME, type SystemFile } from '../sandbox/system-files.ts'
import type { Environment } from './user-environment.ts'

/** What package managers are told inside: files that are put there, and the variables that lead to them. */
export type RegistrySettings = {
  files: SystemFile[]
  env: Record<string, string>
  /** What the files name and has to be there: certificates, folders of packages. */
  paths: string[]
}

const NPM = '/run/matrix/npmrc'
const PIP = '/run/matrix/pip.conf'
/** Cargo reads the settings of every folder above the one it works in. */
const CARGO = '/.cargo/config.toml'
const MAX_BYTES = 1 << 20

/** Where the user's package managers fetch from: a mirror that they need outside is needed inside too. No credential is among it. */
export function readRegistrySettings(home: string, env: Environment): RegistrySettings {
  const config = env.XDG_CONFIG_HOME ?? join(home, '.config')
  const npm = keepLines(
    [env.NPM_CONFIG_GLOBALCONFIG ?? '/usr/etc/npmrc', '/etc/npmrc', join(home, '.npmrc')],
    isNpmSetting,
  )
  const pip = keepLines(['/etc/pip.conf', join(home, '.pip/pip.conf'), join(config, 'pip/pip.conf')], isPipSetting)
  const cargo = keepLines([join(env.CARGO_HOME ?? join(home, '.cargo'), 'config.toml')], isCargoSetting)
  const go = keepLines([join(config, 'go/env')], isGoSetting)
  const files = [
    // What is installed for all projects goes where it can be written, and where the PATH finds it.
    { target: NPM, text: `${npm}prefix=${HOME}/.npm-global\n` },
    { target: PIP, text: pip && `[global]\n${pip}` },
    { target: CARGO, text: cargo },
  ].filter(({ text }) => text !== '')
  return {
    files,
    paths: findPaths(`${npm}${pip}`).filter((path) => existsSync(path) && !isWithin(home, path)),
    env: {
      NPM_CONFIG_GLOBALCONFIG: NPM,
      ...(pip && { PIP_CONFIG_FILE: PIP }),
      ...Object.fromEntries(
        go
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split(/=(.*)/s, 2) as [string, string]),
      ),
    },
  }
}

function findPaths(text: string): string[] {
  const named = text.matchAll(/^(?:cafile|cert|find-links)\s*=\s*(\/\S+)$/gm)
  return [...named, ...text.matchAll(/file:\/\/(\/\S+)/g)].map(([, path = '']) => path)
}

function isNpmSetting(line: string): boolean {
  return /^(?:@[\w.-]+:)?registry\s*=|^(?:cafile|strict-ssl|fetch-(?:retries|timeout)|nodedir|engine-strict)\s*=/.test(
    line,
  )
}

function isPipSetting(line: string): boolean {
  return /^(?:index-url|extra-index-url|find-links|trusted-host|cert|timeout|no-index)\s*=/.test(line)
}

/** Tables are kept whole but for what is named like a credential. */
function isCargoSetting(line: string): boolean {
  return !/^(?:token|secret-key|password|username|credential[\w-]*|.*credential-provider)\b/.test(line)
}

function isGoSetting(line: string): boolean {
  return /^(?:GOPROXY|GOPRIVATE|GONOPROXY|GONOSUMDB|GOSUMDB|GOFLAGS|GOTOOLCHAIN|CGO_ENABLED)=/.test(line)
}

/** The lines of all files that are wanted and hold no credential; a later file counts more, so it comes last. */
function keepLines(files: readonly string[], isWanted: (line: string) => boolean): string {
  const lines = files.flatMap((file) => read(file).split('\n'))
  const kept = lines.map((line) => line.trim()).filter((line) => line !== '' && !/^[#;]/.test(line) && isWanted(line))
  return kept
    .filter((line) => !isLiteralCredential('', line))
    .map((line) => `${line}\n`)
    .join('')
}

function read(file: string): string {
  try {
    // A pipe in its place would never end.
    const found = statSync(file)
    return found.isFile() && found.size <= MAX_BYTES ? readFileSync(file, 'utf8') : ''
  } catch {
    return ''
  }
}
