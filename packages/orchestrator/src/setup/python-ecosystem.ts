import type { Folder } from './project-files.ts'
import type { Step } from './setup-step.ts'

const locks: [file: string, program: string, command: string][] = [
  ['uv.lock', 'uv', 'uv sync --frozen'],
  ['poetry.lock', 'poetry', 'poetry install --no-interaction'],
  ['pdm.lock', 'pdm', 'pdm sync --dev'],
  ['Pipfile.lock', 'pipenv', 'pipenv sync --dev'],
]

const requirements = ['requirements.txt', 'requirements-dev.txt', 'requirements_dev.txt', 'dev-requirements.txt']
/** Extras that people give what the tests need. */
const extras = ['test', 'tests', 'testing', 'dev']

export async function pythonSteps(folder: Folder): Promise<Step | undefined> {
  const pyproject = (await folder.read('pyproject.toml')) ?? ''
  const locked = locks.find(([file]) => folder.has(file))
  if (locked) {
    const [because, needs, command] = locked
    const run = { uv: 'uv run pytest', poetry: 'poetry run pytest', pdm: 'pdm run pytest', pipenv: 'pipenv run pytest' }
    const test = hasPytest(folder, pyproject) ? run[needs as keyof typeof run] : undefined
    return { ecosystem: needs, because, needs, commands: [command], test }
  }
  const lists = requirements.filter((file) => folder.has(file))
  const own = folder.has('setup.py') || /^\[(project|build-system|tool\.poetry)\]/m.test(pyproject)
  // A pyproject.toml may hold nothing but the settings of a linter.
  if (!own && lists.length === 0) return undefined
  const isTested = hasPytest(folder, pyproject)
  const given = [
    ...lists.map((file) => `-r ${file}`),
    ...(own ? [`-e ${extrasOf(pyproject)}`] : []),
    ...(isTested ? ['pytest'] : []),
  ].join(' ')
  return {
    ecosystem: 'pip',
    because: lists[0] ?? (folder.has('pyproject.toml') ? 'pyproject.toml' : 'setup.py'),
    needs: 'python3',
    commands: ['[ -d .venv ] || python3 -m venv .venv', `.venv/bin/python -m pip install --quiet ${given}`],
    test: isTested ? '.venv/bin/python -m pytest' : undefined,
  }
}

function extrasOf(pyproject: string): string {
  const table = /^\[project\.optional-dependencies\]\n([\s\S]*?)(?=^\[|(?![\s\S]))/m.exec(pyproject)?.[1] ?? ''
  const found = extras.filter((name) => new RegExp(`^${name}\\s*=`, 'm').test(table))
  return found.length > 0 ? `'.[${found.join(',')}]'` : '.'
}

function hasPytest({ has }: Folder, pyproject: string): boolean {
  return has('pytest.ini') || has('conftest.py') || has('tox.ini') || /pytest/.test(pyproject)
}
