import { digestValue } from '@matrix/manifest'
import { MatrixError, orchestratorTools as names, removeInvisible } from '@matrix/protocol'
import type { SkillDetail } from '@matrix/protocol/http'
import * as z from 'zod'
import type { Agent } from '../agent.ts'
import { askForApproval } from '../approvals.ts'
import type { ProjectContext } from '../project-context.ts'
import type { PinnedSkill } from '../skills/skill-shelf.ts'
import { idForCall } from './call-id.ts'
import { ownTool } from './own-tool.ts'

const PATIENCE_MS = 365 * 24 * 3600 * 1000
const MAX_TEXT = 60_000

export const skillTool = ownTool({
  name: names.useSkill,
  description:
    'Reads a skill: instructions for certain work, and where its scripts lie. Skills give no rights that your tools do not have.',
  input: z.object({
    name: z.string().max(64),
    file: z.string().max(500).optional().describe('One of its files; its instructions when left out.'),
  }),
  async run(ctx, agent, { name, file }, callId) {
    const skill = (await ctx.skills.use(name)) ?? (await ask(ctx, agent, name, callId))
    if (typeof skill === 'string') return skill
    return file === undefined ? describe(skill) : readFile(skill, file)
  },
})

/** Puts every file of a skill before the user, with what has changed; answers what the agent is told if it is denied. */
async function ask(ctx: ProjectContext, agent: Agent, name: string, callId: string): Promise<PinnedSkill | string> {
  const { digest, state, folder, files, allows } = await ctx.skills.show(name)
  const input = { skill: name, folder, digest, ...(allows && { allows }), files: files.map(shownFile) }
  const answer = await askForApproval(
    ctx,
    agent.taskId,
    {
      id: `skill-${idForCall(agent, callId)}`,
      uri: names.useSkill,
      side_effect_class: 'read',
      input,
      inputDigest: digestValue(input),
      reason: `${state === 'changed' ? `The skill "${name}" is another than the one you approved.` : `The skill "${name}" came with the repository.`} Agents read it as instructions and can run its scripts in the sandbox. It gives them no rights.`,
      expiresAt: ctx.world.clock.now() + PATIENCE_MS,
      scopes: ['always'],
    },
    { signal: agent.abort.signal, holdsUp: (one) => one === agent },
  )
  if (agent.abort.signal.aborted) throw new MatrixError('TOOL_CANCELLED', 'The agent was stopped')
  if (answer.decision === 'deny')
    return `The user denied the skill "${name}"${answer.reason ? `: ${answer.reason}` : '.'} Work without it.`
  await ctx.skills.approve(name, digest ?? '')
  const skill = await ctx.skills.use(name)
  if (skill) return skill
  throw new MatrixError('SKILL_UNAPPROVED', `The skill "${name}" has changed again.`)
}

function shownFile({ path, change, text, difference, bytes }: SkillDetail['files'][number]) {
  return {
    path,
    ...(change !== 'same' && { change }),
    ...(difference ? { difference } : { text: text ?? `${bytes} bytes` }),
  }
}

function describe({ name, body, path, files, allows }: PinnedSkill): string {
  const others = files.map((each) => each.path).filter((each) => !/^SKILL\.(?:md|mtx)$/i.test(each))
  return [
    `# Skill ${name}`,
    ...(others.length > 0 ? [`Its files lie in ${path}, which is read-only: ${others.join(', ')}`] : []),
    ...(allows ? [`It is meant to be used with these tools: ${allows.join(', ')}`] : []),
    '',
    cut(body),
  ].join('\n')
}

function readFile({ name, files }: PinnedSkill, wanted: string): string {
  const found = files.find(({ path }) => path === wanted.replace(/^\.\//, ''))
  if (!found)
    throw new MatrixError('SKILL_UNKNOWN', `The skill "${name}" has no file ${JSON.stringify(wanted.slice(0, 200))}`, {
      hint: `Its files: ${files.map(({ path }) => path).join(', ')}`,
    })
  return cut(removeInvisible(found.bytes.toString('utf8')).text)
}

function cut(text: string): string {
  return text.length <= MAX_TEXT
    ? text
    : `${text.slice(0, MAX_TEXT)}\n[cut after ${MAX_TEXT} of ${text.length} characters]`
}
