import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expectProgram } from '../run-command.ts'
import { registry } from './company-network.ts'

type Files = Readonly<Record<string, string>>

/** What each registry publishes: one package named `greeting`, written for this. */
export async function writeRegistries(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  await writePip(folder)
  await writeCargo(folder)
  await writeGo(folder)
}

async function writePip(folder: string): Promise<void> {
  const wheel = 'greeting-1.0.0-py3-none-any.whl'
  const about = 'greeting-1.0.0.dist-info'
  await archive(join(folder, 'simple/greeting', wheel), 'zip', '', {
    'greeting.py': 'def greet():\n    return "hello from pip"\n',
    [`${about}/METADATA`]: 'Metadata-Version: 2.1\nName: greeting\nVersion: 1.0.0\n',
    [`${about}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: proving\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${about}/RECORD`]: `greeting.py,,\n${about}/METADATA,,\n${about}/WHEEL,,\n${about}/RECORD,,\n`,
  })
  writeFiles(folder, { 'simple/greeting/index.html': `<a href="${wheel}">${wheel}</a>\n` })
}

async function writeCargo(folder: string): Promise<void> {
  const crate = join(folder, 'crates/greeting/1.0.0/download')
  await archive(crate, 'tar.gz', 'greeting-1.0.0/', {
    'Cargo.toml': '[package]\nname = "greeting"\nversion = "1.0.0"\nedition = "2018"\n',
    'src/lib.rs': 'pub fn greet() -> &\'static str {\n    "hello from cargo"\n}\n',
  })
  const cksum = createHash('sha256').update(readFileSync(crate)).digest('hex')
  const entry = { name: 'greeting', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false }
  writeFiles(folder, {
    'cargo/config.json': JSON.stringify({ dl: `http://${registry}/crates` }),
    'cargo/gr/ee/greeting': `${JSON.stringify(entry)}\n`,
  })
}

async function writeGo(folder: string): Promise<void> {
  const versions = 'go/proving.example/greeting/@v'
  const mod = 'module proving.example/greeting\n\ngo 1.19\n'
  await archive(join(folder, versions, 'v1.0.0.zip'), 'zip', 'proving.example/greeting@v1.0.0/', {
    'go.mod': mod,
    'greeting.go': 'package greeting\n\nfunc Greet() string { return "hello from go" }\n',
  })
  writeFiles(folder, {
    [`${versions}/list`]: 'v1.0.0\n',
    [`${versions}/v1.0.0.info`]: '{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}',
    [`${versions}/v1.0.0.mod`]: mod,
  })
}

/** git writes every format that is needed, and is there in any case. */
async function archive(target: string, format: 'zip' | 'tar.gz', prefix: string, files: Files): Promise<void> {
  const source = mkdtempSync(join(tmpdir(), 'proving-package-'))
  try {
    writeFiles(source, files)
    const git = (...args: string[]) => expectProgram(['git', '-C', source, ...args], { cwd: source })
    await git('init', '--quiet')
    await git('add', '--all')
    const tree = (await git('write-tree')).trim()
    mkdirSync(dirname(target), { recursive: true })
    await git('archive', `--format=${format}`, `--prefix=${prefix}`, `--output=${target}`, tree)
  } finally {
    rmSync(source, { recursive: true })
  }
}

export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}
