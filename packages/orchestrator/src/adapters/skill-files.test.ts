import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSkillShelf, type SkillShelf } from '../skills/skill-shelf.ts'
import { nodeWorld } from './node-world.ts'
import { openSkillFolders } from './skill-files.ts'

let root: string
let approved: number

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'matrix-skills-')))
  approved = 0
  for (const name of ['home', 'repo', 'data']) await mkdir(join(root, name))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const text = (name: string, more = '') => `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\nDo it.\n`

test('a skill of the home is usable at first, and one of the repository once it is approved', async () => {
  await put('home/.claude/skills/mine/SKILL.md', text('mine'))
  await put('repo/.agents/skills/theirs/SKILL.md', text('theirs'))

  expect(await states()).toEqual({ mine: 'ready', theirs: 'unapproved' })
  expect(await shelf().use('mine')).toMatchObject({ body: 'Do it.' })
  expect(await shelf().use('theirs')).toBeUndefined()
  await expect(shelf().require(['theirs'])).rejects.toThrow('"theirs" is not approved')
  await approve('theirs')
  expect(await shelf().use('theirs')).toMatchObject({ body: 'Do it.' })
  expect(approved).toBe(1)
})

test('a skill of the repository does not take the name of one of the home', async () => {
  await put('repo/.claude/skills/deploy/SKILL.md', text('deploy').replace('Do it', 'Steal it'))
  await put('home/.agents/skills/deploy/SKILL.md', text('deploy'))

  expect(await shelf().use('deploy')).toMatchObject({ body: 'Do it.' })
})

test('a script that is replaced after the approval is not run: the copy stays, and the change asks again', async () => {
  await put('repo/.claude/skills/run/SKILL.md', text('run'))
  await put('repo/.claude/skills/run/scripts/go.sh', 'echo good', 0o755)
  await approve('run')
  const before = await shelf().use('run')
  await put('repo/.claude/skills/run/scripts/go.sh', 'echo evil', 0o755)

  expect(await states()).toEqual({ run: 'changed' })
  expect(await shelf().use('run')).toBeUndefined()
  expect(await readFile(join(before?.path ?? '', 'scripts/go.sh'), 'utf8')).toBe('echo good')
  const { files } = await shelf().show('run')
  expect(files).toMatchObject([{ change: 'same' }, { change: 'changed', difference: 'echo [-good-] {+evil+}' }])
})

test('a change of one bit of the mode, a new file and a removed one are changes', async () => {
  await put('repo/.claude/skills/run/SKILL.md', text('run'))
  await put('repo/.claude/skills/run/a.txt', 'a')
  await approve('run')
  await chmod(join(root, 'repo/.claude/skills/run/a.txt'), 0o755)
  expect(await states()).toEqual({ run: 'changed' })
  await approve('run')
  await put('repo/.claude/skills/run/b.txt', 'b')
  await rm(join(root, 'repo/.claude/skills/run/a.txt'))
  const { files } = await shelf().show('run')
  expect(files.map(({ path, change }) => `${path} ${change}`)).toEqual([
    'SKILL.md same',
    'b.txt added',
    'a.txt removed',
  ])
})

test('skills of more than 64 MiB together are not read to the end, and say so', async () => {
  for (let at = 10; at < 29; at += 1) {
    await put(`repo/.claude/skills/s${at}/SKILL.md`, text(`s${at}`))
    await put(`repo/.claude/skills/s${at}/data`, 'x'.repeat(4_000_000))
  }
  const list = await shelf().list()

  expect(list.map(({ state }) => state).filter((state) => state === 'unapproved')).toHaveLength(17)
  expect(list.at(-1)).toMatchObject({ state: 'invalid', notes: [expect.stringContaining('s28 was not read')] })
  expect((await shelf().show('s10')).files).toHaveLength(2)
})

test('what was changed between the look and the approval is not approved', async () => {
  await put('repo/.claude/skills/run/SKILL.md', text('run'))
  const { digest } = await shelf().show('run')
  await put('repo/.claude/skills/run/SKILL.md', text('run').replace('Do it', 'Do more'))

  await expect(shelf().approve('run', digest ?? '')).rejects.toThrow('no longer what was shown')
  expect(await shelf().use('run')).toBeUndefined()
})

test('an approved copy that was tampered with counts as never approved', async () => {
  await put('repo/.claude/skills/run/SKILL.md', text('run'))
  await approve('run')
  const { path = '' } = (await shelf().use('run')) ?? {}
  await writeFile(join(path, 'SKILL.md'), text('run').replace('Do it', 'Steal'))

  expect(await states()).toEqual({ run: 'unapproved' })
  expect(shelf().limitOf('run').tools).toEqual(new Set())
})

test('folders that are linked count within the home, as installers make them, and never out of the repository', async () => {
  await put('home/.agents/skills/real/SKILL.md', text('real'))
  await put('elsewhere/SKILL.md', text('stolen'))
  await mkdir(join(root, 'home/.claude/skills'), { recursive: true })
  await mkdir(join(root, 'repo/.claude/skills'), { recursive: true })
  await symlink(join(root, 'home/.agents/skills/real'), join(root, 'home/.claude/skills/real'))
  await symlink(join(root, 'elsewhere'), join(root, 'repo/.claude/skills/stolen'))

  expect(await states()).toEqual({ real: 'ready', stolen: 'invalid' })
  await expect(shelf().use('stolen')).rejects.toThrow('a link that leads out of')
})

test.each([
  ['a link to a file', async (folder: string) => symlink('/etc/passwd', join(folder, 'x')), 'holds a link: x'],
  ['a pipe', async (folder: string) => void execFileSync('mkfifo', [join(folder, 'x')]), 'not a regular file'],
  [
    'a file of 50 MB',
    async (folder: string) => writeFile(join(folder, 'x'), Buffer.alloc(50 << 20)),
    'more than 4194304 bytes',
  ],
  [
    'a deep folder',
    async (folder: string) => void (await mkdir(join(folder, ...'abcdefgh'), { recursive: true })),
    'deep',
  ],
  [
    'a name that cannot be shown',
    async (folder: string) => writeFile(join(folder, 'a\u202eb'), ''),
    'whose name cannot be shown',
  ],
  [
    'too many files',
    async (folder: string) =>
      void (await Promise.all(Array.from({ length: 201 }, (_, i) => writeFile(join(folder, `f${i}`), '')))),
    'more than 200 files',
  ],
])('a skill with %s is listed with the reason and cannot be used', async (_, spoil, reason) => {
  await put('repo/.claude/skills/bad/SKILL.md', text('bad'))
  await spoil(join(root, 'repo/.claude/skills/bad'))
  const [found] = await shelf().list()

  expect(found).toMatchObject({ state: 'invalid', digest: null, notes: [expect.stringContaining(reason)] })
  await expect(shelf().use('bad')).rejects.toThrow(reason)
})

test('a SKILL.md that cannot be read is listed with its line', async () => {
  await put('repo/.claude/skills/bad/SKILL.md', '---\nname: bad\nname: worse\ndescription: x\n---\n')
  await put('repo/.claude/skills/empty/SKILL.md', '')

  expect(await states()).toEqual({ bad: 'invalid', empty: 'invalid' })
  expect((await shelf().list())[0]?.notes).toEqual([expect.stringMatching(/^Line 3: .*stands twice/)])
})

test('a name that nothing has says which skills there are', async () => {
  await put('home/.claude/skills/mine/SKILL.md', text('mine'))
  for (const name of ['other', '../mine', '__proto__', ''])
    await expect(shelf().use(name)).rejects.toThrow('Skills: mine.')
})

function shelf(): SkillShelf {
  const folders = openSkillFolders({
    home: join(root, 'home'),
    checkout: join(root, 'repo'),
    directory: join(root, 'data'),
  })
  const onApproved = () => {
    approved += 1
  }
  return openSkillShelf(nodeWorld(), { folders, file: join(root, 'data/skills.json'), onApproved })
}

async function approve(name: string): Promise<void> {
  const { digest } = await shelf().show(name)
  await shelf().approve(name, digest ?? '')
}

async function states(): Promise<Record<string, string>> {
  return Object.fromEntries((await shelf().list()).map(({ name, state }) => [name, state]))
}

async function put(path: string, content: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content, { mode })
}
