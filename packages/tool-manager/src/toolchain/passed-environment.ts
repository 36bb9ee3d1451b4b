import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { isLiteralCredential, isSecretName } from '@matrix/manifest'
import type { Environment } from './user-environment.ts'

/** Name the certificates that this machine trusts. What they name can be read in a sandbox. */
const certificates = [
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'PIP_CERT'],
  ...['GIT_SSL_CAINFO', 'GIT_SSL_CAPATH', 'CARGO_HTTP_CAINFO', 'AWS_CA_BUNDLE', 'NIX_SSL_CERT_FILE', 'DENO_CERT'],
  ...[
    'HTTPLIB2_CA_CERTS',
    'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
    'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE',
    'npm_config_cafile',
  ],
]

/** Change what a build or a test gives: without them, the result inside would not be that outside. */
const plain = [
  ...['LANG', 'LANGUAGE', 'TZ', 'CI', 'NO_COLOR', 'FORCE_COLOR', 'DEBIAN_FRONTEND', 'SOURCE_DATE_EPOCH'],
  ...['CC', 'CXX', 'CPP', 'LD', 'AR', 'CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS', 'MAKEFLAGS', 'PKG_CONFIG_PATH'],
  ...['ASAN_OPTIONS', 'LSAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'MSAN_OPTIONS'],
  ...['RUSTFLAGS', 'RUST_BACKTRACE', 'RUSTUP_TOOLCHAIN', 'CARGO_BUILD_JOBS', 'CARGO_NET_OFFLINE'],
  ...['GOFLAGS', 'GONOPROXY', 'GOTOOLCHAIN', 'CGO_ENABLED'],
  ...['PYENV_VERSION', 'PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED', 'PYTHONHASHSEED', 'PYTHONUTF8'],
  ...['PIP_DEFAULT_TIMEOUT', 'PIP_DISABLE_PIP_VERSION_CHECK'],
  ...['COREPACK_NPM_REGISTRY'],
  ...['JAVA_TOOL_OPTIONS', 'MAVEN_OPTS', 'GRADLE_OPTS', 'SBT_OPTS', 'NODENV_VERSION', 'RBENV_VERSION', 'GOENV_VERSION'],
]
const patterns = [/^LC_[A-Z]+$/, /^ASDF_[A-Z0-9_]+_VERSION$/, /^CARGO_TARGET_[A-Z0-9_]+_(?:LINKER|RUSTFLAGS|RUNNER)$/]

/** Are Matrix's to set in a sandbox. */
const reserved =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|SHLVL|_|MATRIX_.*|MXD_.*|(?:https?|all|no|ftp)_proxy)$/i

export type PassedEnvironment = {
  env: Record<string, string>
  /** What the variables name and has to be there. */
  files: string[]
  /** Names that were asked for or are usual, and why they are not passed. */
  withheld: { name: string; reason: string }[]
}

/** Of the user's environment what a sandbox has too, with the names that the user added. */
export function passEnvironment(env: Environment, added: readonly string[] = []): PassedEnvironment {
  const usual = [
    ...certificates,
    ...plain,
    ...Object.keys(env).filter((name) => patterns.some((each) => each.test(name))),
  ]
  const result: PassedEnvironment = { env: {}, files: [], withheld: [] }
  for (const name of new Set([...usual, ...added])) {
    const value = env[name]
    if (value === undefined) continue
    const reason = whyWithheld(name, value)
    if (reason) result.withheld.push({ name, reason })
    else result.env[name] = value
  }
  result.files = certificates.flatMap((name) => {
    const file = result.env[name]
    return file && isAbsolute(file) && existsSync(file) ? [file] : []
  })
  return result
}

/** Why a variable may not be added, judged by its name alone. */
export function whyReserved(name: string): string | undefined {
  if (reserved.test(name)) return 'is set by Matrix itself'
  return isSecretName(name) ? 'is named like a credential, and no sandbox is given one' : undefined
}

function whyWithheld(name: string, value: string): string | undefined {
  if (value.includes('\0')) return 'holds a NUL character'
  return whyReserved(name) ?? (isLiteralCredential(name, value) ? 'holds a credential' : undefined)
}
