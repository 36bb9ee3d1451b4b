import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expectProgram, runProgram } from './run-command.ts'

/** Installs what is missing as root; anyone else is told the command. */
export async function installPackages(packages: readonly string[]): Promise<void> {
  const missing = await findMissing(packages)
  if (missing.length === 0) return
  const command = ['apt-get', 'install', '-qy', '--no-install-recommends', ...missing] as const
  if (process.getuid?.() !== 0) throw new Error(`Debian packages are missing. Run: sudo ${command.join(' ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  if ((await runProgram(command, { cwd: '/', env })).code === 0) return
  await expectProgram(['apt-get', 'update', '-q'], { cwd: '/', env })
  await expectProgram(command, { cwd: '/', env })
}

/** Says which of these Debian packages are not installed. */
async function findMissing(packages: readonly string[]): Promise<string[]> {
  const missing: string[] = []
  for (const name of packages) {
    const { output } = await runProgram(['dpkg-query', '-W', '-f=${db:Status-Status}', name], { cwd: '/' })
    if (!output.endsWith('installed') || output.endsWith('not-installed')) missing.push(name)
  }
  return missing
}

/**
 * Fetches and unpacks a source package into `into`. The lists are private copies with `deb-src` lines made of the machine's own
 * `deb` lines, so that neither root nor a change to /etc/apt is needed.
 */
export async function fetchDebianSource(name: string, folders: { cache: string; into: string }): Promise<void> {
  const apt = await openLists(join(folders.cache, 'apt'))
  const downloads = join(folders.cache, 'debian', name)
  mkdirSync(downloads, { recursive: true })
  if (!findDescription(downloads))
    await expectProgram(['apt-get', ...apt, '-q', 'source', '--download-only', '--only-source', name], {
      cwd: downloads,
    })
  const description = findDescription(downloads)
  if (!description) throw new Error(`apt-get source ${name} left no .dsc file in ${downloads}.`)
  await expectProgram(['dpkg-source', '--no-check', '-x', join(downloads, description), folders.into], {
    cwd: downloads,
  })
}

function findDescription(folder: string): string | undefined {
  return readdirSync(folder).find((file) => file.endsWith('.dsc'))
}

async function openLists(folder: string): Promise<string[]> {
  const sources = join(folder, 'proving.sources')
  const options = {
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': '',
  }
  const args = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  if (existsSync(sources)) return args
  mkdirSync(join(folder, 'lists/partial'), { recursive: true })
  mkdirSync(join(folder, 'cache/archives/partial'), { recursive: true })
  const list = join(folder, 'unread.sources')
  writeFileSync(list, sourceStanzas().join('\n'))
  await expectProgram(['apt-get', ...args, '-o', `Dir::Etc::SourceList=${list}`, '-q', 'update'], { cwd: folder })
  // Written last: lists that were fetched by half are fetched again.
  writeFileSync(sources, readFileSync(list))
  return args
}

/** The release's own suites among the machine's package lists, asked for sources. */
function sourceStanzas(): string[] {
  const release = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
  const files = ['/etc/apt/sources.list', ...listFiles('/etc/apt/sources.list.d')].filter(existsSync)
  const stanzas = files.flatMap((file) => readStanzas(readFileSync(file, 'utf8')))
  return [...new Set(stanzas.filter((stanza) => new RegExp(`^Suites:.* ${release}`, 'm').test(stanza)))]
}

function listFiles(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((file) => join(folder, file)) : []
}

const oneLine = /^deb(?: \[.*?(?:signed-by=(\S+?))?\])? +(\S+) +(\S+) +(.+)$/gm

/** Both formats of a package list, as stanzas for sources. */
export function readStanzas(text: string): string[] {
  const lines = [...text.matchAll(oneLine)].map(([, key, uri = '', suite = '', components = '']) =>
    stanza({ uri, suite, components, key }),
  )
  const blocks = text
    .replaceAll(/^#.*\n/gm, '')
    .split(/\n\s*\n/)
    .map((block) => (name: string) => new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(block)?.[1])
    .filter((field) => field('Types')?.split(' ').includes('deb'))
    .map((field) =>
      stanza({
        uri: field('URIs') ?? '',
        suite: field('Suites') ?? '',
        components: field('Components') ?? '',
        key: field('Signed-By'),
      }),
    )
  return [...lines, ...blocks]
}

type Stanza = { uri: string; suite: string; components: string; key: string | undefined }

function stanza({ uri, suite, components, key }: Stanza): string {
  const signed = key ? [`Signed-By: ${key}`] : []
  return ['Types: deb-src', `URIs: ${uri}`, `Suites: ${suite}`, `Components: ${components}`, ...signed, ''].join('\n')
}
