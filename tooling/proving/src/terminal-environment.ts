import { delimiter } from 'node:path'

const kept =
  /^(HOME|PATH|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(https?|no|all)_proxy)$/i

/** What a user's terminal has: without the folders and variables that npm and pnpm add for a script. */
export function terminalEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const own = Object.entries(env).filter(([name]) => kept.test(name))
  const path = (env.PATH ?? '').split(delimiter).filter((folder) => !/node_modules|node-gyp-bin/.test(folder))
  return { ...Object.fromEntries(own), PATH: path.join(delimiter) }
}
