import { printableLine } from '@matrix/protocol'
import { isOwnServer } from '../manifest/own-server.ts'
import { isToolVisible } from '../policy/tool-pattern.ts'
import type { Lock } from './lock.ts'

/** What an agent may do by its lock, in sentences for the user who decides about it: the strongest first. */
export function describeLock({ manifest, policy, unavailable = {} }: Lock): string[] {
  const { allowed_side_effects: may } = manifest
  const said = policy?.toolsSettings ?? {}
  const sentences = [
    may.includes('shell') && `Runs commands in the sandbox${listed(said.bash?.allowedCommands, ', matching')}.`,
    may.includes('network') && 'Reaches the network.',
    may.includes('write') && `Writes files of its worktree${listed(said.write_file?.allowedPaths, ', unasked only')}.`,
    may.includes('read') && `Reads files of its worktree${listed(said.read_file?.allowedPaths, ', unasked only')}.`,
    may.length === 0 && 'May do nothing.',
    toolSentence({ manifest, policy }),
    policy && askSentence(policy.allowedTools),
    policy &&
      policy.resources.length > 0 &&
      `Reads into its context: ${policy.resources.map(withoutScheme).join(', ')}.`,
    ...hookSentences(policy),
    policy?.prompt && promptSentence(policy.prompt),
    policy?.model && `Asks for the model ${policy.model}.`,
    ...Object.keys(unavailable).map((alias) => `Works without the server "${alias}".`),
  ]
  return sentences.filter((each) => typeof each === 'string' && each !== '') as string[]
}

function toolSentence({ manifest, policy }: Pick<Lock, 'manifest' | 'policy'>): string {
  const counts = manifest.servers.flatMap((server) => {
    const name = isOwnServer(server) ? undefined : server.alias
    const shown = server.tools.filter(
      ({ name: tool }) => !policy || isToolVisible(policy.tools, { server: name, tool }),
    )
    return shown.length === 0 ? [] : [`${name ?? 'Matrix'} (${shown.length})`]
  })
  return counts.length === 0 ? 'Is shown no tool of a server.' : `Is shown tools of ${counts.join(', ')}.`
}

function askSentence(allowed: readonly string[]): string {
  return allowed.length === 0 ? 'Asks before every call.' : `Asks before every call except ${allowed.join(', ')}.`
}

const moments = {
  agentSpawn: 'when it starts',
  userPromptSubmit: 'at each user message',
  preToolUse: 'before calls',
  postToolUse: 'after calls',
  stop: 'when it ends a turn',
} as const

function hookSentences(policy: Lock['policy']): string[] {
  return Object.entries(policy?.hooks ?? {}).flatMap(([trigger, hooks]) =>
    (hooks ?? []).map(({ command }) => `Runs in the sandbox ${moments[trigger as keyof typeof moments]}: ${command}`),
  )
}

const SHOWN = 200

/** The start of the prompt, by which one that is no prompt is told. */
function promptSentence(prompt: string): string {
  const start = printableLine(prompt.slice(0, SHOWN)).trim()
  return `Brings a prompt of ${prompt.length} characters: ${start}${prompt.length > SHOWN ? ' …' : ''}`
}

function listed(list: readonly string[] | undefined, before: string): string {
  return list === undefined ? '' : `${before} ${list.join(', ') || 'nothing'}`
}

function withoutScheme(resource: string): string {
  return resource.replace(/^file:\/\//, '')
}
