import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchDebianSource } from './debian.ts'
import type { Project } from './project.ts'
import { expectProgram } from './run-command.ts'
import { terminalEnvironment } from './terminal-environment.ts'

/** The project as a git repository, and a clone of it for the run outside. */
export type Ground = { folder: string; repository: string; outside: string }

const leftBehind = ['node_modules/', 'package-lock.json', '.proving/', '.pc/', '__pycache__/', '.pytest_cache/']

/** Fetches a project by name, unless it is cached, and lays it out afresh. */
export async function layOut(project: Project, cache: string): Promise<Ground> {
  const folder = join(cache, 'work', project.name)
  const ground = { folder, repository: join(folder, 'repository'), outside: join(folder, 'outside') }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await unpack(project, { cache, into: ground.repository })
  const options = { cwd: ground.repository, env: terminalEnvironment() }
  if (project.layout) await expectProgram(['bash', '-c', project.layout], options)
  const ignored = [...leftBehind, ...(project.ignored ?? [])]
  writeFileSync(join(ground.repository, '.gitignore'), `${ignored.join('\n')}\n`)

  const git = (...args: string[]) => expectProgram(['git', ...args], options)
  rmSync(join(ground.repository, '.git'), { recursive: true, force: true })
  await git('init', '--quiet', '--initial-branch=main')
  await git('config', 'user.name', 'Proving Ground')
  await git('config', 'user.email', 'proving@example.com')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', `${project.name} as published`)
  await git('clone', '--quiet', ground.repository, ground.outside)
  return ground
}

async function unpack({ source }: Project, folders: { cache: string; into: string }): Promise<void> {
  if ('debian' in source) return fetchDebianSource(source.debian, folders)
  const downloads = join(folders.cache, 'npm', source.npm.replaceAll('/', '+'))
  mkdirSync(downloads, { recursive: true })
  const options = { cwd: downloads, env: terminalEnvironment() }
  if (!findArchive(downloads)) await expectProgram(['npm', 'pack', '--silent', source.npm], options)
  const archive = findArchive(downloads)
  if (!archive) throw new Error(`npm pack ${source.npm} left no archive in ${downloads}.`)
  mkdirSync(folders.into)
  await expectProgram(['tar', '-xzf', archive, '-C', folders.into, '--strip-components=1'], options)
}

function findArchive(folder: string): string | undefined {
  return existsSync(folder) ? readdirSync(folder).find((file) => file.endsWith('.tgz')) : undefined
}
