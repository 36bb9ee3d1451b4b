import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Names under which programs keep what only their user may know. Source files that happen to be called so are not meant. */
const secretNames =
  /^(?:\.?(?:credentials?|secrets?|tokens?|cookies|passwords?)(?:\.(?:json|toml|ya?ml|ini|conf|txt|db|sqlite))?|auth\.json|\.env(?:\..+)?|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|id_(?:rsa|dsa|ecdsa|ed25519).*|.+\.(?:key|p12|pfx|kdbx|keystore)|keyrings?|\.gnupg|\.ssh|\.aws|\.kube)$/i

export function isSecretFile(name: string): boolean {
  return secretNames.test(name)
}

/** The first thing in a folder, or in the folders directly below it, that is called like a secret. */
export function findSecret(folder: string, depth = 2): string | undefined {
  const entries = readdirSync(folder, { withFileTypes: true })
  const own = entries.find(({ name }) => isSecretFile(name))
  if (own) return join(folder, own.name)
  if (depth <= 1) return undefined
  for (const entry of entries) {
    const found = entry.isDirectory() ? findSecretIfOpen(join(folder, entry.name), depth - 1) : undefined
    if (found) return found
  }
  return undefined
}

function findSecretIfOpen(folder: string, depth: number): string | undefined {
  try {
    return findSecret(folder, depth)
  } catch {
    // What cannot be read here cannot be read from a sandbox either.
    return undefined
  }
}
