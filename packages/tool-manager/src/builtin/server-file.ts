import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { MatrixError } from '@matrix/protocol'

/** Beside what was built, beside what something else was bundled into, or where the sources are built to. */
const places = ['../serve-tools.mjs', './serve-tools.mjs', '../../dist/serve-tools.mjs']

/** The one file that holds the whole built-in server, for a box that has nothing else of Matrix. */
export function getServerFile(): string {
  const file = places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((path) => existsSync(path))
  if (file) return file
  throw new MatrixError('SERVER_UNAVAILABLE', 'The file of the built-in tools, serve-tools.mjs, is missing.', {
    hint: 'Build it with pnpm build, or install @matrix/tool-manager again.',
  })
}
