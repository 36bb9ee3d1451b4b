import { type Lock, type Server, serverSurfaceDigest, type ToolSurface } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { ServerDrift } from '@matrix/protocol/http'
import { agreeToSurface, type DriftedTool, describeDrift, type Redactor } from '@matrix/tool-manager'

/** What a person is shown of a server that is not what was agreed to, and whether they can agree to it. */
export function viewDrift(
  server: Server,
  found: readonly ToolSurface[],
  { lock, redactor }: { lock: Lock | undefined; redactor: Redactor },
): ServerDrift {
  const locked = lock && Object.hasOwn(lock.servers, server.alias) ? lock.servers[server.alias] : undefined
  const tools = redactor.value(describeDrift(server, found, locked))
  if (JSON.stringify(tools).length > MAX_SHOWN) return { surface: null, obstacle: endless, tools: shorten(tools) }
  try {
    const surface = serverSurfaceDigest(found)
    if (lock && locked) agreeToSurface(lockOfOne(lock, server, locked), server.alias, found, surface)
    return { surface, obstacle: locked ? findSecret(found, redactor) : unlocked, tools }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { surface: null, obstacle: redactor.text(error.message), tools }
  }
}

const MAX_SHOWN = 500_000
const endless = 'There is more that is different than anybody could read.'

function shorten(tools: readonly DriftedTool[]): DriftedTool[] {
  const cut = (text: string | null) => text?.slice(0, 1000) ?? null
  return tools.slice(0, 50).map((tool) => ({
    ...tool,
    tool: tool.tool.slice(0, 200),
    fields: tool.fields.slice(0, 5).map(({ field, approved, found }) => ({
      field: field.slice(0, 200),
      approved: cut(approved),
      found: cut(found),
    })),
  }))
}

const unlocked = 'It has no lock: change the list in its manifest, then run matrix lock.'

/** A lock is a file that people share. */
function findSecret(found: readonly ToolSurface[], redactor: Redactor): string | null {
  const text = JSON.stringify(found)
  return redactor.text(text) === text
    ? null
    : 'The server wrote a credential that it was given into its own definitions.'
}

/** What the others are is not asked here. */
function lockOfOne(lock: Lock, server: Server, locked: Lock['servers'][string]): Lock {
  const { policy: _others, ...rest } = lock
  return { ...rest, manifest: { ...lock.manifest, servers: [server] }, servers: { [server.alias]: locked } }
}
