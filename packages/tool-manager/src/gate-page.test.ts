import { readFileSync } from 'node:fs'
import { type Policy, readAgentSkill, type SkillLimit, type ToolSettings } from '@matrix/manifest'
import { expect, test } from 'vitest'
import type { ApprovalPort } from './approval.ts'
import { executeTool } from './execute-tool.ts'
import { bootHarness, lockOf, manifestOf, scriptedServer, surface, temporaryFolder } from './scripted-server.testing.ts'

const page = readFileSync(new URL('../../../docs/gate.md', import.meta.url), 'utf8')

const rows = [...page.matchAll(/^\| (\d+) \| `(\{.*\})` \| `(\{.*\})` \| (.+) \|$/gm)].map(
  ([, step, rules = '', input = '', answer = '']) => ({
    step,
    rules: JSON.parse(rules),
    input: JSON.parse(input),
    answer,
  }),
)

test('the page has an example for each of its steps', () => {
  const steps = [...page.matchAll(/^\| (\d+) \| (?:`[a-z-]+`|arguments) \| [a-z]/gm)].map(([, step]) => step)

  expect(steps).toHaveLength(11)
  expect([...new Set(rows.map(({ step }) => step))]).toEqual(steps)
})

test.each(rows)('step $step: $rules with $input: $answer', async ({ rules, input, answer }) => {
  expect(await decide(rules, input)).toBe(answer)
})

type Rules = {
  deny?: string[]
  skill?: string[]
  skillAllows?: string
  blocked?: boolean
  effects?: never[]
  tools?: string[]
  allowedTools?: string[]
  settings?: ToolSettings
  approves?: boolean
}

/** What the whole way of a call comes to, from the agent's request to the tool's answer. */
async function decide(
  { deny, skill, skillAllows, blocked, effects, tools, allowedTools, settings, approves }: Rules,
  input: object,
) {
  let asked = false
  const approve: ApprovalPort = async ({ id, inputDigest }) => {
    asked = true
    return approves ? { decision: 'allow', scope: 'once', id, inputDigest } : { decision: 'deny' }
  }
  const text = { type: 'string' }
  const properties = { path: text, command: text, url: text, note: text }
  const definition = surface('echo', { inputSchema: { type: 'object', properties } })
  const manifest = manifestOf(
    [scriptedServer({ tools: [definition] })],
    effects ? { allowed_side_effects: effects } : {},
  )
  const policy: Policy = {
    tools: tools ?? ['*'],
    allowedTools: allowedTools ?? [],
    toolsSettings: settings ? { '@scripted/echo': settings } : {},
    resources: [],
    hooks: blocked ? { preToolUse: [{ command: 'unused' }] } : {},
  }
  const harness = await bootHarness({
    manifest,
    lock: lockOf(manifest, { scripted: [definition] }),
    policy,
    deny,
    skills: () => skillsOf({ skill, allowedTools: skillAllows }),
    approve,
    worktree: temporaryFolder(),
  })
  const hooks = { ...harness.tools.hooks, run: async () => (blocked ? [blockedBy] : []) }
  const { isError, code } = await executeTool({ ...harness.tools, hooks }, { name: 'echo', input })
  if (asked && approves === undefined) return 'asks'
  if (!isError) return 'runs'
  const denied = harness.events.find((event) => event.type === 'call_denied')
  return `refused: ${denied?.step ?? (code === 'TOOL_FAILED' ? 'arguments' : code)}`
}

const blockedBy = { hook: { command: 'unused' }, status: 'blocked' as const, output: 'no' }

function skillsOf({
  skill,
  allowedTools,
}: {
  skill: string[] | undefined
  allowedTools: string | undefined
}): SkillLimit[] {
  const text = `---\nname: a\ndescription: b\nallowed-tools: ${allowedTools}\n---\n`
  const { skill: read } = readAgentSkill(Buffer.from(text))
  return [
    ...(skill ? [{ name: 'listed', tools: new Set(skill), grants: undefined }] : []),
    ...(allowedTools ? [{ name: 'granted', tools: 'unconstrained' as const, grants: read?.allowedTools }] : []),
  ]
}
