import { digestBytes, digestValue, parseSkill, readAgentSkill, type SkillLimit, skillName } from '@matrix/manifest'
import { removeInvisible } from '@matrix/protocol'
import type { SkillFile } from './skill-shelf.ts'

/** What the files of a skill say: how it is offered, what it tells an agent, and which tools it allows. */
export type SkillContent = {
  name: string
  description: string
  body: string
  limit: SkillLimit
  /** The tools of `limit`, for people; null where it limits none. */
  allows: string[] | null
  /** What is wrong with the files. With `isInvalid`, the skill cannot be used. */
  notes: string[]
  isInvalid: boolean
}

/** One digest over all files: a script that is replaced makes it another skill. */
export function digestFiles(files: readonly SkillFile[]): string {
  return digestValue(files.map(({ path, bytes, isExecutable }) => ({ path, digest: digestBytes(bytes), isExecutable })))
}

export function readContent(folderName: string, files: readonly SkillFile[]): SkillContent {
  const fileNamed = (name: string) => files.find(({ path }) => path.toLowerCase() === name)?.bytes
  const [markdown, listed] = [fileNamed('skill.md'), fileNamed('skill.mtx')]
  const read = markdown && readAgentSkill(markdown, { folderName })
  const parsed = listed && parseSkill(listed.toString('utf8'))
  const name = read?.skill?.name ?? folderName
  const findings = [...(read?.findings ?? []), ...(parsed?.findings ?? [])].filter(
    ({ severity }) => severity !== 'note',
  )
  const isInvalid = !skillName.test(name) || (read !== undefined && !read.skill)
  const grants = read?.skill?.allowedTools
  const tools = parsed?.tools ?? 'unconstrained'
  return {
    name,
    description: clean(read?.skill?.description ?? parsed?.about ?? ''),
    body: clean(read ? (read.skill?.body ?? '') : (listed?.toString('utf8') ?? '')),
    limit: { name, tools, grants },
    allows: tools === 'unconstrained' && !grants ? null : describeLimit({ name, tools, grants }),
    notes: findings.map(({ line, message }) => `Line ${line}: ${message}`),
    isInvalid,
  }
}

function describeLimit({ tools, grants }: SkillLimit): string[] {
  const granted = [...(grants ?? [])].map(([tool, { commands, paths }]) => {
    const limits = [...(commands ?? []), ...(paths ?? [])]
    return limits.length > 0 ? `${tool} (${limits.join(', ')})` : tool
  })
  return [...(tools === 'unconstrained' ? [] : tools), ...granted]
}

function clean(text: string): string {
  return removeInvisible(text.trim()).text
}
