const network =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b(?: ([\w-]+(?:\.[\w-]+)+))?/

const certificate =
  /\b(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)\b/

const lockfile =
  /\b(ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_LOCKFILE_CONFIG_MISMATCH|ERR_PNPM_NO_LOCKFILE|ERR_PNPM_BROKEN_LOCKFILE)\b/

/** What node-gyp says, what make says, what a shell says. */
const compiler = [
  /gyp ERR! find (Python|VS)\b/,
  /not found: (make)\b/,
  /make: (cc|gcc|g\+\+|c\+\+|clang): No such file/,
  /\b(make|cc|gcc|g\+\+|c\+\+|clang): (?:command )?not found/,
]

/**
 * What went wrong in one sentence, if the output of npm, pnpm or turbo shows a cause a person can do something about.
 * The order matters: a native module that finds no compiler has usually failed to download its prebuilt file first.
 * @param {string} output
 * @returns {string | undefined}
 */
export function explainFailure(output) {
  if (/\bENOSPC\b|no space left on device/i.test(output))
    return 'The disk is full (ENOSPC): free some space and run the command again.'

  const stale = lockfile.exec(output)
  if (stale)
    return `pnpm-lock.yaml does not match the package.json files (${stale[1]}): run \`npx pnpm install\` and commit the lockfile with them.`

  const tool = compiler.map((said) => said.exec(output)?.[1]).find(Boolean)
  if (tool)
    return `A native module has to be compiled here and ${tool} is missing: install Python 3, make and a C++ compiler (Debian: apt-get install python3 make g++; macOS: xcode-select --install; Windows: Visual Studio Build Tools).`

  const untrusted = certificate.exec(output)
  if (untrusted)
    return `The npm registry's certificate is not trusted (${untrusted[1]}): set NODE_EXTRA_CA_CERTS to your network's CA file and run the command again.`

  const unreachable = network.exec(output)
  if (unreachable)
    return `The network is out of reach (${unreachable.slice(1).filter(Boolean).join(' ')}): check the connection, the proxy and the registry (npm config get registry) and run the command again.`

  return undefined
}

/**
 * The end of a tool's output, for a failure nobody foresaw.
 * @param {string} output
 */
export function tailOf(output, lines = 40) {
  return output.trimEnd().split('\n').slice(-lines).join('\n')
}
