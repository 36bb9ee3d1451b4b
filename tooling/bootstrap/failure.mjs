const network =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/

const certificate =
  /\b(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)\b/

const compiler =
  /not found: (make|g\+\+|gcc|cc|c\+\+)\b|\b(make|g\+\+|gcc|cc|c\+\+): (?:command )?not found|\b(make|g\+\+|gcc|cc|c\+\+): No such file or directory|find (Python|VS)\b|Could not find any (Python|Visual Studio)/

const lockfile =
  /\b(ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_LOCKFILE_CONFIG_MISMATCH|ERR_PNPM_NO_LOCKFILE|ERR_PNPM_BROKEN_LOCKFILE)\b/

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

  const tool = compiler.exec(output)
  if (tool)
    return `A native module has to be compiled here and ${firstGroup(tool)} is missing: install Python 3, make and a C++ compiler (Debian: apt-get install python3 make g++; macOS: xcode-select --install; Windows: Visual Studio Build Tools).`

  const untrusted = certificate.exec(output)
  if (untrusted)
    return `The npm registry's certificate is not trusted (${untrusted[1]}): set NODE_EXTRA_CA_CERTS to your network's CA file and run the command again.`

  const unreachable = network.exec(output)
  if (unreachable)
    return `The npm registry cannot be reached (${unreachable[1]}): check the network and the proxy settings (npm config get registry) and run the command again.`

  return undefined
}

/**
 * The end of a tool's output, for a failure nobody foresaw.
 * @param {string} output
 */
export function tailOf(output, lines = 40) {
  return output.trimEnd().split('\n').slice(-lines).join('\n')
}

/** @param {RegExpExecArray} match */
function firstGroup(match) {
  return match.slice(1).find(Boolean)
}
