import { existsSync } from 'node:fs'
import { type Identity, isReachable, prepareStage } from './identity.ts'
import { isWithin, type Mount } from './mount.ts'

/** How the one who starts a box, and is not root, finds what only root can reach. */
export type Stage = {
  /** What comes before the command of bubblewrap. */
  prefix: string[]
  /** For `spawn`, where the process changes its user by itself. */
  spawnAs: Partial<Identity>
  locate(source: string): string
}

/**
 * Bubblewrap looks up every path as the user of the box, and a data directory below /root is closed to that user.
 * So root first binds such paths into a private view that can be walked, and becomes that user only then.
 */
export function planStage(mounts: readonly Mount[], socket: string | undefined, identity: Identity | undefined): Stage {
  if (!identity) return { prefix: [], spawnAs: {}, locate: (source) => source }

  const sources = mounts.flatMap((mount) => {
    if (mount.kind === 'link' || (mount.isOptional && !existsSync(mount.source))) return []
    return [mount.source]
  })
  const hidden = [...sources, ...(socket ? [socket] : [])].filter((source) => !isReachable(source, identity))
  const roots = hidden.filter((path) => !hidden.some((other) => other !== path && isWithin(path, other)))
  if (roots.length === 0) return { prefix: [], spawnAs: identity, locate: (source) => source }

  const stage = prepareStage()
  const view = [stage, String(identity.uid), String(identity.gid), String(roots.length), ...roots]
  return {
    prefix: ['/usr/bin/unshare', '--mount', '--propagation', 'private', '/bin/sh', '-ec', script, 'matrix', ...view],
    spawnAs: {},
    locate(source) {
      const index = roots.findIndex((root) => isWithin(source, root))
      const root = roots[index]
      return root === undefined ? source : `${stage}/${index}${source.slice(root.length)}`
    },
  }
}

const script = `
PATH=/usr/sbin:/usr/bin:/sbin:/bin
stage=$1 user=$2 group=$3 count=$4
shift 4
mount -t tmpfs -o mode=755,size=1m,nosuid,nodev matrix "$stage"
index=0
while [ "$index" -lt "$count" ]; do
  if [ -d "$1" ]; then mkdir "$stage/$index"; else : > "$stage/$index"; fi
  # Bubblewrap names what is missing, unless it can do without.
  mount --bind "$1" "$stage/$index" 2>/dev/null || rm -d "$stage/$index"
  index=$((index + 1))
  shift
done
exec setpriv --reuid "$user" --regid "$group" --clear-groups -- "$@"
`
