import type { SkillDetail } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { fakeDaemon, projectView, rootId, taskView } from '../fake-daemon.testing.ts'
import { matrix } from '../matrix-process.testing.ts'

const projectId = projectView().id
const digest = `sha256:${'ab'.repeat(32)}`
const skill: SkillDetail = {
  name: 'greet',
  description: 'Greets people.',
  source: 'repository',
  folder: '.claude/skills/greet',
  state: 'changed',
  digest,
  notes: [],
  allows: ['bash (echo(?:\\s.*)?)'],
  files: [
    { path: 'SKILL.md', bytes: 10, change: 'same', text: 'Greet.\n' },
    { path: 'go.sh', bytes: 9, change: 'changed', text: 'echo \u001b[2Jevil\n', difference: 'echo [-good-] {+evil+}' },
  ],
}
const root = taskView(rootId, { title: 'Ship it' })
const here = {
  listProjects: [projectView({ path: process.cwd() })],
  listTasks: [root],
  listSkills: [skill],
  getSkill: skill,
  approveSkill: { ...skill, state: 'ready' as const },
  updateTask: root,
}

test('skills are listed with their state and shown word by word, with nothing that a terminal would obey', async () => {
  const { env } = await fakeDaemon(here)

  expect((await matrix(['skills'], { env })).stdout).toMatch(
    /greet +changed since approved +\.claude\/skills\/greet +Greets/,
  )
  const { stdout } = await matrix(['skills', 'show', 'greet'], { env })
  expect(stdout).toContain('go.sh (changed)\necho [-good-] {+evil+}')
  expect(stdout).toContain('allows  bash (echo')
  expect(stdout).not.toContain('\u001b[2J')
})

test('a skill is approved under the digest of what was shown, and not without a yes', async () => {
  const { env, asked } = await fakeDaemon(here)

  expect((await matrix(['skills', 'approve', 'greet'], { env })).code).not.toBe(0)
  expect(asked.filter(({ operation }) => operation === 'approveSkill')).toEqual([])
  expect((await matrix(['skills', 'approve', 'greet', '--yes'], { env })).stdout).toContain(
    `Approved "greet" (${digest})`,
  )
  expect(asked.find(({ operation }) => operation === 'approveSkill')).toMatchObject({
    params: { projectId, name: 'greet' },
    body: { digest },
  })
})

test('a task is held to skills, and to none again', async () => {
  const { env, asked } = await fakeDaemon(here)

  await matrix(['task', 'update', 'root', '--skill', 'greet', '--skill', 'look'], { env })
  await matrix(['task', 'update', 'root', '--skill', 'none'], { env })
  expect(asked.flatMap(({ operation, body }) => (operation === 'updateTask' ? [body] : []))).toEqual([
    { skills: ['greet', 'look'] },
    { skills: null },
  ])
})
