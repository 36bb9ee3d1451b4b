import { fileURLToPath } from 'node:url'

export function shippedAgents(): string {
  return fileURLToPath(new URL('../../../../agents', import.meta.url))
}
