import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CommandStarter, openCommands } from './command.ts'
import { captureOutput } from './output-capture.ts'

const READY_MS = 500
const TICKS_PER_SECOND = 100

let folder: string
let commands: CommandStarter

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-command-')))
  commands = openCommands()
})

afterEach(() => {
  commands.close()
  rmSync(folder, { recursive: true })
})

async function run(command: string, cwd = folder) {
  const capture = captureOutput({ spillFile: () => join(folder, 'spill') })
  const started = await commands.start(command, { cwd, capture })
  const end = await started.ended
  return { ...end, output: capture.text() }
}

/** How long the shell had been there when its command ran. */
const age = `read -r up _ </proc/uptime; read -ra stat </proc/$$/stat; echo "$up \${stat[21]}"`

test('a command finds a shell that was started before it was asked for', async () => {
  await run('true')
  await sleep(READY_MS)
  const [up = 0, startTicks = 0] = (await run(age)).output.split(' ').map(Number)
  expect(up - startTicks / TICKS_PER_SECOND).toBeGreaterThan(READY_MS / 2000)
})

test('a shell that was ended while it waited is not given a command', async () => {
  await run('true')
  await sleep(READY_MS)
  for (const shell of listShells()) process.kill(shell, 'SIGKILL')
  await sleep(READY_MS)
  expect(await run('echo still here')).toMatchObject({ code: 0, output: 'still here\n' })
})

test('a command sees nothing of how it was handed over', async () => {
  await run('true')
  await sleep(READY_MS)
  const { output } = await run('echo "[$folder$command$REPLY$OLDPWD] $# $0 $PWD"; declare -p OLDPWD; cat <&0')
  expect(output).toBe(`[] 1 bash ${folder}\ndeclare -x OLDPWD\n`)
})

test('a command of 100,000 characters arrives whole and at once', async () => {
  const text = 'ä𝄞z\n'.repeat(20_000)
  const start = performance.now()
  const { output } = await run(`cat <<'END' | wc -c\n${text}END`)
  expect(output).toBe(`${Buffer.byteLength(text)}\n`)
  expect(performance.now() - start).toBeLessThan(2000)
})

test('a folder that is gone or has an odd name is no reason to run the command elsewhere', async () => {
  const odd = join(folder, '-ö\n$(touch x)')
  await run(`mkdir -- "$1"; mkdir -p -- ${quote(odd)}`)
  expect((await run('pwd; touch made', odd)).output).toBe(`${odd}\n`)
  await run(`rm -r -- ${quote(odd)}`)
  const { code, output } = await run('touch wrong; pwd', odd)
  expect(code).toBe(1)
  expect(output).toContain('No such file or directory')
})

test('a NUL character is refused before anything runs', async () => {
  await expect(run('echo a\0b')).rejects.toThrow('NUL')
})

test('any text is handed over as it is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.replaceAll('\0', '')),
      async (text) => {
        expect((await run(`printf %s ${quote(text)} | base64 -w0`)).output).toBe(Buffer.from(text).toString('base64'))
      },
    ),
    { numRuns: 40 },
  )
})

/** The shells that this process has started and that have not ended. */
function listShells(): number[] {
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return children.filter((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'bash\n').map(Number)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
