import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChangedFile, findReasons, isRuledLink, needsContent } from './flag.ts'

const plain = '100644'
const none = '000000'

function added(path: string, content: string | null = 'x\n', newMode = plain): ChangedFile {
  return { path, oldMode: none, newMode, new: content }
}

function edited(path: string, old: string | null, content: string | null): ChangedFile {
  return { path, oldMode: plain, newMode: plain, old, new: content }
}

const isFlagged = (file: ChangedFile) => findReasons(file).length > 0

describe('files that run by themselves', () => {
  test.each([
    ['editors', '.vscode/tasks.json', '.idea/workspace.xml', 'a/b.code-workspace', '.vimrc', '.zed/tasks.json'],
    ['shells', '.envrc', 'sub/.envrc', 'mise.toml', '.devcontainer/devcontainer.json'],
    ['git', '.husky/pre-commit', '.githooks/pre-push', '.pre-commit-config.yaml', '.gitmodules', 'lefthook.yml'],
    ['CI', '.github/workflows/ci.yml', '.gitlab-ci.yml', 'Jenkinsfile', '.circleci/config.yml'],
    [
      'agents',
      '.mcp.json',
      '.claude/settings.json',
      'CLAUDE.md',
      'AGENTS.md',
      '.cursor/rules/x.mdc',
      '.mxd/agents/a.md',
    ],
    ['package managers', '.npmrc', '.yarnrc.yml', '.pnpmfile.cjs', 'setup.py', 'conftest.py', 'build.rs'],
  ])('what %s run is flagged', (_, ...paths) => {
    for (const path of paths) expect(isFlagged(added(path)), path).toBe(true)
  })

  test('a name that another file system takes for the same is flagged too', () => {
    for (const path of [
      '.VSCode/tasks.json',
      '.vscode./tasks.json',
      '.vs\u200dcode/tasks.json',
      '.envrc ',
      'VSCODE~1/tasks.json',
    ])
      expect(isFlagged(added(path)), path).toBe(true)
  })

  test('ordinary files are not', () => {
    const paths = [
      'src/a.ts',
      'README.md',
      'test/a.test.ts',
      'docs/agents/x.md',
      'src/github/workflows/a.ts',
      '.gitignore',
    ]
    for (const path of [...paths, 'Makefile', 'src/vscode/tasks.json', 'a.txt', 'tsconfig.json'])
      expect(findReasons(added(path)), path).toEqual([])
  })
})

describe('modes', () => {
  test('a new executable is flagged, and one that only changes is not', () => {
    expect(findReasons(added('bin/x', undefined, '100755'))).toEqual(['It is a new executable.'])
    expect(findReasons({ path: 'bin/x', oldMode: plain, newMode: '100755' })).toEqual(['It is a new executable.'])
    expect(findReasons({ path: 'bin/x', oldMode: '100755', newMode: '100755' })).toEqual([])
    expect(findReasons({ path: 'bin/x', oldMode: '100755', newMode: plain })).toEqual([])
  })

  test('a submodule is flagged', () => {
    expect(findReasons(added('vendor/x', undefined, '160000'))).toHaveLength(1)
  })

  test('a link is flagged where it leads out of the repository, or stands for a file with a rule', () => {
    for (const target of [
      '/etc/passwd',
      '../../x',
      '../..',
      'b/../../../x',
      'b/../c',
      '~/x',
      'C:\\x',
      '..\\..\\x',
      '../.git/config',
    ])
      expect(findReasons(added('a/link', target, '120000')), target).toEqual([
        'It is a link that leads out of the repository.',
      ])
    for (const target of ['b', '../b', './b/c', '../src/x.ts'])
      expect(findReasons(added('a/link', target, '120000')), target).toEqual([])
    expect(isFlagged(added('.husky', 'scripts', '120000'))).toBe(true)
    expect(isFlagged(added('.github', 'ci', '120000'))).toBe(true)
    expect(isRuledLink('.github')).toBe(true)
    expect(isRuledLink('src')).toBe(false)
  })

  test('a link whose target was not read counts as one that leads out', () => {
    expect(isFlagged(added('a/link', null, '120000'))).toBe(true)
  })
})

describe('the place', () => {
  test('files in the folder that core.hooksPath names are flagged', () => {
    for (const hooksPath of ['tools/hooks', './tools/hooks/', 'tools/hooks'])
      expect(findReasons(added('tools/hooks/pre-commit'), { hooksPath })).toHaveLength(1)
    expect(findReasons(added('tools/hooky'), { hooksPath: 'tools/hooks' })).toEqual([])
    expect(findReasons(added('pre-commit'), { hooksPath: '.' })).toHaveLength(1)
  })

  test('a file that a link gives another name is judged by that name too', () => {
    const links = [{ name: '.husky', target: 'scripts/git' }]
    expect(findReasons(added('scripts/git/pre-commit'), { links })).toHaveLength(1)
    expect(findReasons(added('scripts/gitx'), { links })).toEqual([])
  })
})

describe('files where the content decides', () => {
  const json = (value: unknown) => JSON.stringify(value, null, 2)

  test('package.json is flagged for scripts, hooks and dependencies from elsewhere, and not for versions', () => {
    const old = json({ version: '1.0.0', scripts: { test: 'vitest' }, dependencies: { zod: '^4.0.0' } })
    const to = (value: object) => edited('packages/a/package.json', old, json({ ...JSON.parse(old), ...value }))

    expect(
      isFlagged(to({ version: '2.0.0', dependencies: { zod: '^4.1.0', fastify: '5.x || >=6', a: 'npm:b@^1' } })),
    ).toBe(false)
    expect(isFlagged(to({ dependencies: { a: 'workspace:*', b: 'catalog:', c: 'latest' } }))).toBe(false)
    expect(isFlagged(to({ scripts: { test: 'vitest', postinstall: 'node x.js' } }))).toBe(true)
    expect(isFlagged(to({ scripts: { test: 'curl x | sh' } }))).toBe(true)
    expect(isFlagged(to({ 'lint-staged': { '*': 'x' } }))).toBe(true)
    for (const spec of [
      'github:a/b',
      'a/b',
      'git+ssh://x/y',
      'https://x/y.tgz',
      'file:../x',
      '..',
      './x',
      'x.tgz',
      'link:../x',
    ])
      expect(isFlagged(to({ dependencies: { zod: spec } })), spec).toBe(true)
    expect(isFlagged(edited('package.json', old, '{ not json'))).toBe(true)
    expect(isFlagged(edited('package.json', old, null))).toBe(true)
  })

  test('.gitattributes is flagged for filters and drivers, and not for line endings', () => {
    expect(isFlagged(added('.gitattributes', '* text=auto eol=lf\n*.png binary\n# words\n'))).toBe(false)
    for (const line of ['*.ts filter=x', '*.ts diff=x', '*.ts merge=x', '[attr]text filter=x', '"a b" filter=x'])
      expect(isFlagged(added('.gitattributes', `* text=auto\n${line}\n`)), line).toBe(true)
  })

  test('a lock file is flagged for a host that it did not name', () => {
    const entry = (host: string) => `    "resolved": "https://${host}/a/-/a-1.0.0.tgz",\n`
    const old = entry('registry.npmjs.org')
    expect(isFlagged(edited('package-lock.json', old, old + entry('registry.npmjs.org')))).toBe(false)
    expect(isFlagged(edited('package-lock.json', old, old + entry('evil.example')))).toBe(true)
    expect(
      isFlagged(
        edited('package-lock.json', old, old.replace('https://', 'git+ssh://git@') + entry('user@evil.example')),
      ),
    ).toBe(true)
  })

  test('content is asked for only where it decides', () => {
    expect(needsContent('package.json', plain)).toBe(true)
    expect(needsContent('a/link', '120000')).toBe(true)
    expect(needsContent('.envrc', plain)).toBe(false)
    expect(needsContent('src/a.ts', plain)).toBe(false)
  })
})

test('any file below a folder with a rule is flagged, whatever its name and content', () => {
  const name = fc.string({ minLength: 1, unit: 'binary' }).filter((text) => !/[/\0]/.test(text))
  fc.assert(
    fc.property(
      fc.constantFrom('.vscode', '.husky', '.claude', '.github/workflows'),
      fc.array(name, { minLength: 1, maxLength: 3 }),
      fc.string(),
      (folder, names, content) => {
        expect(isFlagged(added(`${folder}/${names.join('/')}`, content))).toBe(true)
      },
    ),
  )
})

test('every path and content has an answer', () => {
  const mode = fc.constantFrom(none, plain, '100755', '120000', '160000')
  const content = fc.option(fc.string({ unit: 'binary' }), { nil: null })
  const path = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.constantFrom('package.json', '.gitattributes', 'yarn.lock', 'go.mod'),
  )
  fc.assert(
    fc.property(path, mode, mode, content, content, (at, oldMode, newMode, old, now) => {
      expect(Array.isArray(findReasons({ path: at, oldMode, newMode, old, new: now }))).toBe(true)
    }),
  )
})
