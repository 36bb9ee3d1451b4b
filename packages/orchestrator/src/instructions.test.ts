import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findNestedInstructions } from './adapters/nested-instructions.ts'
import { nodeWorld } from './adapters/node-world.ts'
import { findImports } from './instruction-imports.ts'
import { readInstructions } from './instructions.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-instructions-')))
  for (const folder of ['worktree', 'checkout', 'home']) mkdirSync(join(base, folder))
})
afterEach(() => rmSync(base, { recursive: true }))

test('AGENTS.md counts, else CLAUDE.md, and the user’s own come first', async () => {
  put('home/.claude/CLAUDE.md', 'Be brief.')
  put('worktree/AGENTS.md', 'Run make.')
  put('worktree/CLAUDE.md', 'Run npm.')
  expect(await given()).toEqual(['~/.claude/CLAUDE.md: Be brief.', 'AGENTS.md: Run make.'])

  put('worktree/AGENTS.md', ' \n')
  put('home/.codex/AGENTS.md', 'Be exact.')
  expect(await given()).toEqual(['~/.codex/AGENTS.md: Be exact.', 'CLAUDE.md: Run npm.'])
})

test('what the user has not committed yet counts where the branch has nothing', async () => {
  put('checkout/AGENTS.md', 'Not committed.')

  expect((await read()).given).toEqual([{ path: 'AGENTS.md', origin: 'checkout', text: 'Not committed.', notes: [] }])
})

test('imports are read, nested ones too, each once and in no circle', async () => {
  put('worktree/CLAUDE.md', 'See @docs/a.md and @AGENTS.md, not `@docs/code.md` or me@example.com or @someone.')
  put('worktree/docs/a.md', 'A, see @b.md')
  put('worktree/docs/b.md', 'B, see @a.md and @../CLAUDE.md')
  put('worktree/docs/code.md', 'never')

  expect(await given()).toEqual([
    'CLAUDE.md: See @docs/a.md and @AGENTS.md, not `@docs/code.md` or me@example.com or @someone.',
    'docs/a.md: A, see @b.md',
    'docs/b.md: B, see @a.md and @../CLAUDE.md',
  ])
})

test('imports go so deep and no deeper', async () => {
  put('worktree/AGENTS.md', '@1.md')
  for (let depth = 1; depth < 10; depth += 1) put(`worktree/${depth}.md`, `@${depth + 1}.md`)

  expect((await read()).given.map(({ path }) => path)).toEqual(['AGENTS.md', '1.md', '2.md', '3.md', '4.md', '5.md'])
})

test('nothing outside of the repository is read, neither by a path nor by a link', async () => {
  put('home/secret.md', 'key')
  put('worktree/AGENTS.md', '@../home/secret.md @/etc/hostname.md @~/secret.md @link.md')
  symlinkSync(join(base, 'home/secret.md'), join(base, 'worktree/link.md'))
  const { given: files } = await read()

  expect(JSON.stringify(files)).not.toContain('key')
  expect(files[0]?.notes).toHaveLength(3)
  expect(files[1]).toMatchObject({ path: 'link.md', text: '', notes: [expect.stringContaining('a link leads out of')] })
})

test('a file of the home imports from its own folder only', async () => {
  put('home/.claude/CLAUDE.md', '@more.md @../.ssh/config.md')
  put('home/.claude/more.md', 'More.')
  put('home/.ssh/config.md', 'key')

  expect(await given()).toEqual(['~/.claude/CLAUDE.md: @more.md @../.ssh/config.md', '~/.claude/more.md: More.'])
})

test('a pipe, five megabytes, hidden characters and bytes that are no text do no harm', async () => {
  execFileSync('mkfifo', [join(base, 'worktree/AGENTS.md')])
  expect((await read()).given[0]?.notes[0]).toContain('not a regular file')

  rmSync(join(base, 'worktree/AGENTS.md'))
  put('worktree/AGENTS.md', 'x'.repeat(5_000_000))
  const [large] = (await read()).given
  expect([large?.text.length, large?.notes]).toEqual([32_000, ['cut after 32000 of 5000000 characters']])

  put('worktree/AGENTS.md', 'Run\u200B \u202Emake\u{E0041}.')
  expect((await read()).given[0]).toMatchObject({ text: 'Run make.', notes: ['3 invisible characters were removed'] })

  writeFileSync(join(base, 'worktree/AGENTS.md'), Buffer.from([0x61, 0xff, 0x62]))
  expect((await read()).given[0]?.text).toBe('a\uFFFDb')
})

test('instruction files of folders below are named, not read', async () => {
  put('worktree/AGENTS.md', 'Top.')
  put('worktree/packages/a/AGENTS.md', 'A.')
  put('worktree/packages/a/CLAUDE.md', 'A too.')
  put('worktree/packages/b/CLAUDE.md', 'B.')
  put('worktree/node_modules/x/AGENTS.md', 'Of a package.')
  symlinkSync(base, join(base, 'worktree/link'))

  expect((await read()).nested).toEqual(['packages/a/AGENTS.md', 'packages/b/CLAUDE.md'])
})

test('no text makes an import out of code, and every import is named in the text', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      for (const name of findImports(text)) expect(text).toContain(`@${name}`)
      expect(findImports(`\`\`\`\n${text.replaceAll('`', '')}\n`)).toEqual([])
    }),
  )
})

function put(path: string, text: string): void {
  mkdirSync(dirname(join(base, path)), { recursive: true })
  writeFileSync(join(base, path), text)
}

function read() {
  const places = { worktree: join(base, 'worktree'), checkout: join(base, 'checkout'), home: join(base, 'home') }
  return readInstructions(nodeWorld().files, places, findNestedInstructions)
}

async function given(): Promise<string[]> {
  return (await read()).given.map(({ path, text }) => `${path}: ${text}`)
}
