/** The last descriptor that bubblewrap is given; all above are closed. */
export type LauncherOptions = { lastDescriptor: number }

export const LAUNCHER = '/bin/bash'

/**
 * What runs before bubblewrap, which hands on every descriptor that it inherits: those of the daemon, of the shell that started the
 * daemon, and of libraries that opened one without O_CLOEXEC.
 */
export function launcherPrefix({ lastDescriptor }: LauncherOptions): string[] {
  // Bash takes a socket as its input for a login from afar, and would run ~/.bashrc.
  return [LAUNCHER, '--noprofile', '--norc', '-p', '-c', script, 'matrix', String(lastDescriptor)]
}

// A descriptor that cannot be closed must not be handed on either, so every failure ends the launch.
const script = `
set -e
last=$1
shift
test -e /proc/self/fd/0
for path in /proc/self/fd/*; do
  descriptor=\${path##*/}
  if test "$descriptor" -gt "$last"; then eval "exec $descriptor>&-"; fi
done
exec "$@"
`
