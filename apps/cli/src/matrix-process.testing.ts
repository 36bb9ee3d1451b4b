import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The built command. */
export const matrixBin = fileURLToPath(new URL('../bin/matrix.js', import.meta.url))

export type Ended = { code: number | null; stdout: string; stderr: string }

/** The built command, run as a user runs it; `input` goes to its standard input, and Ctrl-C comes when `untilOutput` was seen. */
export function matrix(
  args: string[],
  options: { cwd?: string; input?: string; env?: Record<string, string>; untilOutput?: RegExp } = {},
): Promise<Ended> {
  const { cwd, input = '', env = {}, untilOutput } = options
  const child = spawn(process.execPath, [matrixBin, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  })
  const ended: Ended = { code: null, stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => {
      ended[name] += text
      if (untilOutput?.test(ended[name])) child.kill('SIGINT')
    })
  child.stdin.on('error', () => undefined).end(input)
  return new Promise((resolve, reject) => child.on('error', reject).on('close', (code) => resolve({ ...ended, code })))
}

/** A folder with these files in it, gone when the test ends. */
export function folderWith(files: Record<string, string | Uint8Array> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

export const goodManifest = manifestText({})

/** A small manifest with nothing wrong, but for what is replaced. */
export function manifestText(server: object, top: object = {}): string {
  const fs = {
    alias: 'fs',
    transport: 'stdio',
    command: 'npx',
    args: ['-y', '@modelcontextprotocol/server-filesystem@2026.8.31', '/workspace'],
    package_digest: 'sha256:a239da270c403c42eb03e1ca7cca07c858085819797b74856ddbb91b50491b1a',
    version: '2026.8.31',
    tools: [{ name: 'read_text_file', description: 'Read a text file', side_effect_class: 'read' }],
    ...server,
  }
  return JSON.stringify(
    { schema_version: 1, agent: 'matrix://agent/a', allowed_side_effects: ['read'], servers: [fs], ...top },
    null,
    2,
  )
}
