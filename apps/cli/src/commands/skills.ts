import { printable, printableLine } from '@matrix/protocol'
import type { SkillDetail, SkillState, SkillView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openProject, type PlaceOptions } from '../place.ts'
import { confirm } from '../prompt.ts'
import { formatTable } from '../table.ts'
import { print, printJson, terminalWidth } from '../terminal.ts'

type Options = PlaceOptions & { json?: boolean }

const states: Record<SkillState, string> = {
  ready: 'ready',
  unapproved: 'not approved',
  changed: 'changed since approved',
  invalid: 'cannot be used',
}

export async function listSkills(options: Options): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  const skills = await client.listSkills({ projectId: project.id })
  if (options.json) printJson(skills)
  else if (skills.length === 0) print('No skills. Put one into .agents/skills/<name>/SKILL.md, here or in your home.')
  else print(formatTable(columns, skills.map(row), terminalWidth()).join('\n'))
  return exitCode.ok
}

const columns = [{ heading: 'skill' }, { heading: 'state' }, { heading: 'folder' }, { heading: 'what for' }]

function row({ name, state, folder, description, notes }: SkillView): string[] {
  const about = state === 'invalid' ? (notes[0] ?? '') : description
  return [name, states[state], folder, about].map((text) => printableLine(text))
}

export async function showSkill(name: string, options: Options): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  const skill = await client.getSkill({ projectId: project.id, name })
  if (options.json) printJson(skill)
  else print(describe(skill))
  return exitCode.ok
}

/** Shows every file first: what is approved is what was on the screen. */
export async function approveSkill(name: string, options: Options & { yes?: boolean }): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  const skill = await client.getSkill({ projectId: project.id, name })
  if (!options.json) print(describe(skill))
  if (
    !(await confirm(
      `Approve the skill "${printableLine(name)}"? Agents read it and run its scripts in the sandbox.`,
      options,
    ))
  )
    return exitCode.findings
  const approved = await client.approveSkill({ projectId: project.id, name, body: { digest: skill.digest ?? '' } })
  if (options.json) printJson(approved)
  else print(`Approved "${printableLine(name)}" (${approved.digest}).`)
  return exitCode.ok
}

function describe({ name, state, folder, description, allows, digest, notes, files }: SkillDetail): string {
  const head = [
    `${name}: ${states[state]}`,
    description,
    `folder  ${folder}`,
    ...(digest ? [`digest  ${digest}`] : []),
    ...(allows ? [`allows  ${allows.join(', ') || 'no tool'}`] : []),
    ...notes.map((note) => `! ${note}`),
  ].map((line) => printableLine(line))
  return [...head, ...files.flatMap(describeFile)].join('\n')
}

function describeFile({ path, bytes, change, text, difference }: SkillDetail['files'][number]): string[] {
  const mark = change === 'same' ? '' : ` (${change})`
  const body = difference
    ? [printableLine(difference), '', printable(text ?? '')]
    : [text === null ? `${bytes} bytes` : printable(text)]
  return ['', `── ${printableLine(path)}${mark}`, ...(change === 'removed' ? [] : body)]
}
