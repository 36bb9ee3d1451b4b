import { type Finding, findingAt, type Mode } from '../document/finding.ts'
import { openSourceText, type SourceText } from '../document/source-text.ts'
import type { Manifest } from '../manifest/manifest.ts'
import { type Section, splitSections, type TextProblem } from './skill-section.ts'
import { readToolAllowlist, type ToolAllowlist } from './tool-allowlist.ts'

export type Skill = {
  /** Names of the sections in the order of the file. */
  sections: string[]
  /** Which tools the skill may use, as far as its file says so. */
  tools: ToolAllowlist
  /** What its §SKILL says. */
  about: string
  findings: Finding[]
}

export type SkillOptions = {
  /** With it, each URI must name a tool that it declares, and its two pins (version and digest) mean the same. */
  manifest?: Manifest
  mode?: Mode
}

const sectionNames = ['SKILL', 'INPUTS', 'CORTEX', 'TOOLS', 'SUB_SKILLS', 'PROCEDURE', 'OUTPUTS', 'FAILURE_MODES']
/** Written by the tools that publish a skill. */
const optionalNames: readonly string[] = ['HASH']

/** Reads a `SKILL.mtx` as far as its §TOOLS goes. Whatever is in doubt there allows nothing. */
export function parseSkill(text: string, { manifest, mode = 'default' }: SkillOptions = {}): Skill {
  const source = openSourceText(text)
  const sections = splitSections(text)
  const { tools, problems } = readTools(sections, manifest)
  const all = [...sectionProblems(sections), ...problems]
  return {
    sections: sections.map(({ name }) => name),
    tools,
    about: (sections.find(({ name }) => name === 'SKILL')?.lines ?? []).map(({ text: line }) => line).join(' '),
    findings: all.toSorted((a, b) => a.offset - b.offset).map((problem) => placed(problem, source, mode)),
  }
}

function readTools(sections: Section[], manifest: Manifest | undefined) {
  const found = sections.filter(({ name }) => name === 'TOOLS')
  const [section] = found
  const isClear = section ? found.length === 1 && section.header.text === '§TOOLS' : sections.every(isKnown)
  if (!section)
    return { tools: isClear && sections.length > 0 ? ('unconstrained' as const) : new Set<string>(), problems: [] }
  const { tools, problems } = readToolAllowlist(section, manifest)
  return { tools: isClear ? tools : new Set<string>(), problems }
}

function isKnown({ name }: Section): boolean {
  return sectionNames.includes(name) || optionalNames.includes(name)
}

function sectionProblems(sections: Section[]): TextProblem[] {
  if (sections.length === 0) return [{ rule: 'MX001', ...nowhere, message: 'The file has no section: it is no skill.' }]
  const names = new Set<string>()
  const hasTools = sections.some(({ name }) => name === 'TOOLS')
  const ofHeaders = sections.flatMap((section) => {
    const isTwice = names.has(section.name)
    names.add(section.name)
    return headerProblems(section, isTwice, hasTools)
  })
  return [...ofHeaders, ...missingSections(names)]
}

const nowhere = { offset: 0, length: 0 }

function headerProblems(section: Section, isTwice: boolean, hasTools: boolean): TextProblem[] {
  const { name, header } = section
  const place = { offset: header.offset, length: header.text.length }
  if (!isKnown(section)) return [unknownSection(name, hasTools, place)]
  if (isTwice) return [{ rule: 'MX001', ...place, message: `§${name} stands twice.`, fix: 'Keep one of the two.' }]
  if (header.text === `§${name}`) return []
  const message = `The content of §${name} starts on a line of its own.`
  return [{ rule: 'MX001', ...place, message, fix: 'Break the line after the name of the section.' }]
}

/** Without §TOOLS, a misspelled name for it would set the skill free. */
function unknownSection(name: string, hasTools: boolean, place: typeof nowhere): TextProblem {
  const known = sectionNames.map((each) => `§${each}`).join(' ')
  const message = `§${name.slice(0, 40)} is no section of a skill${hasTools ? '' : ', and there is no §TOOLS; it is taken to allow no tool'}.`
  return { rule: 'MX025', severity: hasTools ? 'warning' : 'error', ...place, message, fix: `Use one of ${known}.` }
}

function missingSections(names: ReadonlySet<string>): TextProblem[] {
  const missing = sectionNames.filter((name) => !names.has(name) && name !== 'TOOLS')
  const problems: TextProblem[] = []
  if (missing.length > 0)
    problems.push({
      rule: 'MX001',
      severity: 'warning',
      ...nowhere,
      message: `A skill has eight sections; ${missing.map((name) => `§${name}`).join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing.`,
      fix: 'Add them, empty if need be.',
    })
  if (!names.has('TOOLS'))
    problems.push({
      rule: 'MX001',
      severity: 'warning',
      ...nowhere,
      message: 'There is no §TOOLS: nothing but its manifest limits which tools the skill uses.',
      fix: 'Add §TOOLS with one pinned URI a line, or with none.',
    })
  return problems
}

function placed({ offset, length, ...problem }: TextProblem, source: SourceText, mode: Mode): Finding {
  return findingAt({ pointer: '', ...source.placeOf(offset, length) }, problem, mode)
}
