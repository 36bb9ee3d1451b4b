import { attenuate, type Grant } from '@matrix/manifest'
import type { QueueMessage } from '@matrix/protocol'
import { agentsAbove, type ProjectContext } from './project-context.ts'

/** What a sender may do: its own manifest, and the rights of those for whom it acts where they are fewer. */
export type SenderRights = { grant: Grant | undefined; actsFor: string[] | undefined }

/** Read anew for each message: manifests change, and so does what the sender has heard. */
export async function senderRights(ctx: ProjectContext, taskId: string): Promise<SenderRights> {
  const grant = await grantOf(ctx, taskId)
  const heard = await leastHeard(ctx, taskId)
  const own = grant && rightsOf(grant)
  const isFewer = heard !== undefined && !(own?.every((right) => heard.includes(right)) ?? false)
  return { grant, actsFor: isFewer ? (own ?? heard).filter((right) => heard.includes(right)) : undefined }
}

/** What the message says of its sender. */
export function shownRights({ grant, actsFor }: SenderRights): { rights?: string[]; actsFor?: string[] } {
  return { ...(grant && { rights: rightsOf(grant) }), ...(actsFor && { actsFor }) }
}

/** Whether the receiver may do something that the sender, or one for whom it acts, may not. Unknown rights count as fewer. */
export function isWeaker({ grant, actsFor }: SenderRights, receiver: Grant | undefined): boolean {
  if (grant === undefined || receiver === undefined || !attenuate(grant, receiver).allowed) return true
  return actsFor !== undefined && !rightsOf(receiver).every((right) => actsFor.includes(right))
}

/** What the agent of a task may do; undefined where no manifest says so. */
export async function grantOf(ctx: ProjectContext, taskId: string): Promise<Grant | undefined> {
  return ctx.tools.grantOf?.(agentsAbove(ctx, taskId))
}

export function rightsOf({ manifest }: Grant): string[] {
  return [...manifest.allowed_side_effects]
}

/** The rights that every other project has of those whose words reached this task. A compaction keeps the words, so it keeps these. */
async function leastHeard({ log }: ProjectContext, taskId: string): Promise<string[] | undefined> {
  let least: string[] | undefined
  for await (const batch of log.store.read(taskId))
    for (const { known, event } of batch) {
      const heard = known && event.type === 'message' ? boundOf(event.message) : undefined
      if (heard) least = least ? least.filter((right) => heard.includes(right)) : heard
    }
  return least
}

function boundOf(message: QueueMessage): string[] | undefined {
  if (message.source === 'cross_project') return message.actsFor ?? message.rights ?? []
  return message.source === 'task_message' ? message.actsFor : undefined
}
