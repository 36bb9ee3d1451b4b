import { nodeSteps } from './node-ecosystem.ts'
import type { Folder } from './project-files.ts'
import { pythonSteps } from './python-ecosystem.ts'
import type { Step } from './setup-step.ts'

export type Ecosystem = {
  isMarker(name: string): boolean
  /** Undefined where the files only look like a project of this kind. */
  step(folder: Folder): Promise<Step | undefined>
}

/** The order is the one of the script: what others may need comes first. */
export const ecosystems: readonly Ecosystem[] = [
  { isMarker: (name) => name === 'package.json', step: nodeSteps },
  { isMarker: isOneOf('pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'Pipfile'), step: pythonSteps },
  { isMarker: isOneOf('Cargo.toml'), step: cargo },
  { isMarker: isOneOf('go.mod'), step: go },
  { isMarker: isOneOf('Gemfile'), step: bundler },
  { isMarker: isOneOf('composer.json'), step: composer },
  { isMarker: isOneOf('pom.xml'), step: maven },
  { isMarker: isOneOf('build.gradle', 'build.gradle.kts'), step: gradle },
  { isMarker: (name) => /\.(sln|csproj|fsproj)$/.test(name), step: dotnet },
  { isMarker: isOneOf('mix.exs'), step: mix },
  { isMarker: isOneOf('pubspec.yaml'), step: dart },
]

async function cargo({ has }: Folder): Promise<Step> {
  const fetch = has('Cargo.lock') ? 'cargo fetch --locked' : 'cargo fetch'
  return { ecosystem: 'cargo', because: 'Cargo.toml', needs: 'cargo', commands: [fetch], test: 'cargo test' }
}

async function go({ path, has, read }: Folder): Promise<Step> {
  const requires = /^\s*require\b/m.test((await read('go.mod')) ?? '')
  const isVendored = (await read('vendor/modules.txt')) !== undefined
  const isWorkspace = path === '' && has('go.work')
  return {
    ecosystem: 'go',
    because: isWorkspace ? 'go.work' : 'go.mod',
    needs: 'go',
    commands: requires && !isVendored ? ['go mod download'] : [],
    test: 'go test ./...',
  }
}

async function bundler({ has }: Folder): Promise<Step> {
  return {
    ecosystem: 'bundler',
    because: has('Gemfile.lock') ? 'Gemfile.lock' : 'Gemfile',
    needs: 'bundle',
    // Kept beside the worktree's files, because the system's gems cannot be written.
    commands: [
      'bundle config set --local path vendor/bundle',
      ...(has('Gemfile.lock') ? ['bundle config set --local frozen true'] : []),
      'bundle install',
    ],
    test: has('Rakefile') ? 'bundle exec rake test' : undefined,
  }
}

async function composer({ has }: Folder): Promise<Step> {
  return {
    ecosystem: 'composer',
    because: has('composer.lock') ? 'composer.lock' : 'composer.json',
    needs: 'composer',
    commands: ['composer install --no-interaction --no-progress'],
  }
}

async function maven({ has }: Folder): Promise<Step> {
  const own = has('mvnw')
  const program = own ? 'sh ./mvnw' : 'mvn'
  return {
    ecosystem: 'maven',
    because: 'pom.xml',
    needs: own ? 'java' : 'mvn',
    commands: [`${program} --batch-mode --quiet dependency:go-offline`],
    test: `${program} test`,
  }
}

async function gradle({ has }: Folder): Promise<Step> {
  const own = has('gradlew')
  const program = own ? 'sh ./gradlew' : 'gradle'
  return {
    ecosystem: 'gradle',
    because: has('build.gradle.kts') ? 'build.gradle.kts' : 'build.gradle',
    needs: own ? 'java' : 'gradle',
    commands: [`${program} --no-daemon --quiet dependencies`],
    test: `${program} test`,
  }
}

async function dotnet(): Promise<Step> {
  return { ecosystem: 'dotnet', because: '*.sln', needs: 'dotnet', commands: ['dotnet restore'], test: 'dotnet test' }
}

async function mix(): Promise<Step> {
  return { ecosystem: 'mix', because: 'mix.exs', needs: 'mix', commands: ['mix deps.get'], test: 'mix test' }
}

async function dart(): Promise<Step> {
  return { ecosystem: 'dart', because: 'pubspec.yaml', needs: 'dart', commands: ['dart pub get'], test: 'dart test' }
}

function isOneOf(...names: string[]): (name: string) => boolean {
  return (name) => names.includes(name)
}
