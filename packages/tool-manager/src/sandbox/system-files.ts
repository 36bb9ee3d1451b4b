import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Identity } from './identity.ts'

/** Who runs inside, and the home there. It is never the user's own: worktrees and toolchains lie in that one. */
export const USER = homedir() === '/home/agent' ? 'matrix' : 'agent'
export const HOME = `/home/${USER}`
export const HOSTNAME = 'matrix'

/** A file that is written into a box instead of being taken from the machine. */
export type SystemFile = { target: string; text: string | Uint8Array }

/** What names are looked up in. The machine's own files may ask a resolver or a directory that no box can reach. */
export function systemFiles({ uid, gid }: Identity): (SystemFile & { text: string })[] {
  return [
    { target: '/etc/hosts', text: hosts },
    // Without it, glibc stops at the first line that has the name and never sees the second address.
    { target: '/etc/host.conf', text: 'multi on\n' },
    { target: '/etc/hostname', text: `${HOSTNAME}\n` },
    { target: '/etc/nsswitch.conf', text: nameServices },
    // Java and others take the home from here and not from the environment.
    { target: '/etc/passwd', text: withEntry('/etc/passwd', uid, `${USER}:x:${uid}:${gid}:${USER}:${HOME}:/bin/bash`) },
    { target: '/etc/group', text: withEntry('/etc/group', gid, `${USER}:x:${gid}:`) },
  ]
}

const hosts = `127.0.0.1 localhost ${HOSTNAME}
::1 localhost ip6-localhost ip6-loopback ${HOSTNAME}
`

/** Without a resolver: a name that is not in /etc/hosts is unknown at once. */
const nameServices = 'passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n'

/** The entries of the system's own users, after the one of the box: the first that has the number counts. */
function withEntry(file: string, id: number, entry: string): string {
  const lines = readText(file)
    .split('\n')
    .filter((line) => {
      const [name, , number] = line.split(':')
      return name !== USER && Number(number) !== id && isSystem(Number(number))
    })
  return `${[entry, ...lines].join('\n')}\n`
}

/** People are numbered from 1000 on, and 65534 is the one who owns nothing. */
function isSystem(id: number): boolean {
  return id < 1000 || id === 65_534
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
