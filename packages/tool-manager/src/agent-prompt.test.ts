import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Policy } from '@matrix/manifest'
import { expect, test } from 'vitest'
import { withPrompt } from './agent-prompt.ts'
import { temporaryFolder } from './scripted-server.testing.ts'

test('a prompt in a file of the project is read, and the user is told which', async () => {
  for (const file of ['prompt.md', '.github/agents/prompt.md']) {
    const folder = projectWith(file, 'Be kind. Keep every token short, and the password rules in mind.')
    const read = await withPrompt(policyOf(`file://${file}`), folder)

    expect(read.policy.prompt).toContain('Be kind.')
    expect(read.notes).toEqual([`The prompt is the text of ${file}.`])
  }
})

test.each([
  ['.env', 'A=1', 'hidden file'],
  ['.config/prompt.md', 'Hello', 'hidden file'],
  ['.github/.netrc', 'Hello', 'hidden file'],
  ['prompt.md', 'Hello\nDB_PASSWORD=hunter2hunter2\n', 'literal credential'],
  ['prompt.md', `Use ghp_${'a1B2'.repeat(9)}`, 'literal credential'],
])('the prompt %s is refused: %s', async (file, text, reason) => {
  const reading = withPrompt(policyOf(`file://./${file}`), projectWith(file, text))
  await expect(reading).rejects.toMatchObject({ code: 'DOCUMENT_INVALID', message: expect.stringContaining(reason) })
})

test('a link to a hidden file is refused as well, and a file of 4 GiB is not read', async () => {
  const folder = projectWith('.env', 'A=1')
  symlinkSync('.env', join(folder, 'prompt.md'))
  await expect(withPrompt(policyOf('file://prompt.md'), folder)).rejects.toThrow('hidden file')
  writeFileSync(join(folder, 'large.md'), '')
  truncateSync(join(folder, 'large.md'), 2 ** 32)
  await expect(withPrompt(policyOf('file://large.md'), folder)).rejects.toThrow('4294967296 bytes; 64000 fit')
})

function projectWith(file: string, text: string): string {
  const folder = temporaryFolder()
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
  return folder
}

function policyOf(prompt: string): Policy {
  return { tools: [], allowedTools: [], toolsSettings: {}, resources: [], hooks: {}, prompt }
}
