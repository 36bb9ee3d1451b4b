import type { SkillLimit } from '@matrix/manifest'
import { orchestratorTools, type TaskNode } from '@matrix/protocol'
import type { ProjectContext } from '../project-context.ts'

/** What a list in a prompt may cost. */
const MAX_DESCRIPTION = 160
const MAX_LIST = 4_000

/** The skills that a task is held to: its own and those of every task above. */
export function attachedSkills(ctx: ProjectContext, taskId: string): string[] {
  const tasks = [ctx.tree.get(taskId), ...ctx.tree.ancestors(taskId)]
  return [...new Set(tasks.flatMap(({ skills = [] }) => skills))]
}

/** Every skill that holds the calls of a task; `others` are those of its manifests and of the project. */
export function skillLimits(ctx: ProjectContext, taskId: string, others: readonly string[]): SkillLimit[] {
  return [...new Set([...others, ...attachedSkills(ctx, taskId)])].map((name) => ctx.skills.limitOf(name))
}

/** What an agent is told of skills before it uses one: names and descriptions, as far as they are worth their tokens. */
function describeSkills(skills: readonly { name: string; description: string }[], attached: readonly string[]): string {
  if (skills.length === 0) return ''
  const lines: string[] = []
  let left = MAX_LIST
  for (const { name, description } of skills) {
    const text = description.replaceAll(/\s+/g, ' ')
    const short = text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION - 1)}…`
    const line = left > MAX_DESCRIPTION ? `- ${name}: ${short}` : `- ${name}`
    if (left < line.length) break
    left -= line.length
    lines.push(line)
  }
  const more = skills.length - lines.length
  const head = 'Instructions for certain work. Before such work, read the one that fits with use_skill.'
  const held = attached.length > 0 ? [`Attached to your task, which you follow: ${attached.join(', ')}`] : []
  return ['# Skills', head, ...lines, ...(more > 0 ? [`- and ${more} more`] : []), ...held].join('\n')
}

/** What a session begins with, and again after each compaction. */
export async function tellHeader(
  ctx: ProjectContext,
  about: { worktree: string; task: TaskNode; tools: readonly string[]; agent?: string | undefined },
): Promise<string> {
  const isOffered = about.tools.includes(orchestratorTools.useSkill)
  const usable = isOffered ? (await ctx.skills.list()).filter(({ state }) => state !== 'invalid') : []
  return ctx.prompts.header({ ...about, skills: describeSkills(usable, attachedSkills(ctx, about.task.id)) })
}
