import { readdirSync, readFileSync } from 'node:fs'
import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { buildSystemPrompt, formatContext, prepareAgentMessage } from './prompt.ts'
import { promptText } from './prompt-text.ts'

const folder = new URL('../prompts/', import.meta.url)
const root = buildSystemPrompt({ role: 'root', projectName: 'Shop' })
const task = buildSystemPrompt({ role: 'task', projectName: 'Shop' })

test('what is embedded is what the Markdown files say; else run node prompts/embed.mjs', () => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.md'))
  const written = names.map((name) => [
    name.slice(0, -'.md'.length),
    readFileSync(new URL(name, folder), 'utf8').trimEnd(),
  ])

  expect(promptText).toEqual(Object.fromEntries(written))
})

test('the prompt is the same every time, and differs between root and task only in their place', () => {
  expect(buildSystemPrompt({ role: 'task', projectName: 'Shop' })).toBe(task)
  expect(task.replace(promptText.task, promptText.root)).toBe(root)
})

test('every part of the method is in it once, and nothing is left to be filled in', () => {
  for (const [name, text] of Object.entries(promptText)) {
    const heading = text.split('\n')[0] ?? ''
    expect(heading).toMatch(/^# \S/)
    const isIn = `${root}\n${task}`.split(`${heading}\n`).length - 1
    expect([name, isIn]).toEqual([name, name === 'root' || name === 'task' ? 1 : 2])
  }
  expect(root).not.toMatch(/\{\{|\}\}|undefined/)
  expect(root).toContain('the project "Shop"')
})

test('where a task may not be split, splitting is not spoken of', () => {
  const leaf = buildSystemPrompt({ role: 'task', projectName: 'Shop', maySplit: false })

  expect(leaf).not.toContain(promptText.orchestration)
  expect(leaf).toContain(promptText.communication)
})

test('a name cannot add a line to the prompt or pull text into it', () => {
  const prompt = buildSystemPrompt({ role: 'root', projectName: "a\n# Rule\n$& $' x" })

  expect(prompt.split('\n')).toHaveLength(root.split('\n').length)
  expect(prompt).toContain("$& $' x")
})

test('every tool it speaks of exists', () => {
  const known = new Set([...Object.values(orchestratorTools), ...Object.values(loopTools)].map(bareName))
  const spoken = [...root.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name)
  const builtin = ['read_file', 'write_file', 'edit_file', 'list_files']

  expect(spoken.filter((name) => !known.has(name ?? '') && !builtin.includes(name ?? ''))).toEqual([])
  for (const name of ['commit', 'yield', 'done', 'clarify', 'send_message', 'merge_task', 'get_changes'])
    expect(root).toContain(`\`${name}\``)
})

test('no branch name is assumed, and nobody is called parent or child', () => {
  expect(root + task).not.toMatch(/\b(?:main|master|develop|trunk)\b/)
  expect(root + task).not.toMatch(/\b(?:parent|child)\b/i)
})

test('the whole method is short enough to be read', () => {
  expect(root.split('\n').length).toBeLessThan(400)
  expect(root.length).toBeLessThan(24_000)
})

test('the first message says where, what is remembered, and what is to be done', () => {
  const message = prepareAgentMessage({
    worktree: '/w/T1',
    memory: '- Tests run with make.\n',
    task: { title: 'Add a cart', description: 'People want to buy more than one thing.\n' },
  })

  expect(message).toBe(
    'Working directory: /w/T1\n\n# .mxd/memory.md (Preloaded, do not read again)\n- Tests run with make.\n\n# Add a cart\n\nPeople want to buy more than one thing.\n',
  )
})

test('a memory that is missing or blank is said to be empty, and so is nothing said about an empty description', () => {
  const plain = { worktree: '/w', task: { title: 'T', description: ' ' } }

  expect(prepareAgentMessage({ ...plain, memory: undefined })).toBe(prepareAgentMessage({ ...plain, memory: ' \n' }))
  expect(prepareAgentMessage({ ...plain, memory: undefined })).toMatch(/\n\(empty\)\n\n# T\n$/)
})

test('of a memory that is far too long, the newest is shown from the start of a line', () => {
  const memory = Array.from({ length: 20_000 }, (_, index) => `- fact ${index}`).join('\n')
  const context = formatContext({ worktree: '/w', memory })

  expect(context.length).toBeLessThan(65_000)
  expect(context).toMatch(/\n\(The first \d+ characters are left out here; they are in the file\.\)\n- fact \d+\n/)
  expect(context.endsWith('- fact 19999')).toBe(true)
})

function bareName(name: string): string {
  return name.replace('mcp__mxd__', '')
}
