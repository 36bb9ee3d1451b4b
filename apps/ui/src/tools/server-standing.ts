import type { ServerStatus, ToolsView } from '@matrix/protocol/http'
import type { Tone } from '../parts/badge.tsx'

export type Claim = { label: string; tone: Tone; means: string }

type Known = Pick<ServerStatus, 'state' | 'isLocked' | 'isSandboxed' | 'transport' | 'digest'>

/** What can be said of a server, each with what exactly was checked. Nothing is claimed that was not. */
export function claimsOf(server: Known, sandbox: ToolsView['sandbox']): Claim[] {
  return [checked(server), pinned(server), boxed(server, sandbox)]
}

function checked({ state, isLocked }: Known): Claim {
  switch (state) {
    case 'verified':
      return isLocked
        ? {
            label: 'Verified',
            tone: 'ok',
            means: 'When it was last connected, every tool was the one that is pinned: name, description and schema.',
          }
        : {
            label: 'Names match',
            tone: 'neutral',
            means: 'When it was last connected, its tools had the declared names. What they say and do is not pinned.',
          }
    case 'drifted':
      return {
        label: 'Drifted',
        tone: 'bad',
        means: 'Its tools are not what was agreed to. None of them can be called.',
      }
    case 'quarantined':
      return {
        label: 'Quarantined',
        tone: 'bad',
        means: 'It changed or misbehaved while in use. None of its tools can be called.',
      }
    case 'unavailable':
      return {
        label: 'Unavailable',
        tone: 'warn',
        means: 'It could not be started or reached, so nothing was checked.',
      }
    case 'unchecked':
      return {
        label: 'Not checked yet',
        tone: 'neutral',
        means: 'It was not connected since the daemon started. It is checked before its first call.',
      }
    default:
      return state satisfies never
  }
}

function pinned({ isLocked, digest }: Known): Claim {
  if (!isLocked) return { label: 'Not pinned', tone: 'warn', means: 'No lock says what its tools must be.' }
  return {
    label: 'Pinned',
    tone: 'neutral',
    means: digest
      ? 'The lock holds its tools and the digest of its package.'
      : 'The lock holds its tools; there is no package digest.',
  }
}

function boxed({ isSandboxed, transport }: Known, sandbox: ToolsView['sandbox']): Claim {
  if (isSandboxed)
    return { label: 'In a box', tone: 'neutral', means: 'It runs in a sandbox made from what its tools may do.' }
  if (transport === 'http')
    return {
      label: 'Elsewhere',
      tone: 'warn',
      means: 'It runs at another address; nothing here limits what it does there.',
    }
  if (transport === 'in-process')
    return {
      label: 'Part of Matrix',
      tone: 'neutral',
      means: 'It runs inside the daemon and reaches nothing outside of it by itself.',
    }
  return { label: 'No sandbox', tone: 'warn', means: sandbox.reason ?? 'It runs with all rights of the daemon’s user.' }
}
