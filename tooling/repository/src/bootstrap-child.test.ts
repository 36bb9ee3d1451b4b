import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { runChild } from '../../bootstrap/child.mjs'
import { root } from './root.ts'

test('a quiet child hands back its exit code and everything it printed', async () => {
  const program = 'console.log("out"); console.error("err"); process.exitCode = 3'
  const { code, output } = await runChild(process.execPath, ['-e', program], { cwd: root, quiet: true })

  expect(code).toBe(3)
  expect(output).toContain('out\n')
  expect(output).toContain('err\n')
})

test('a command that cannot be started is a failure that names it', async () => {
  expect(await runChild('no-such-command', [], { cwd: root })).toEqual({
    code: 127,
    output: 'no-such-command cannot be started: spawn no-such-command ENOENT',
  })
})

test('told to end, it first ends the child and what the child has started', async () => {
  const grandchild = 'console.log(process.pid); setInterval(() => {}, 1000)'
  const launcher = `require('node:child_process').execFileSync(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { stdio: 'inherit' })`
  const main = `
    import { runChild } from ${JSON.stringify(`file://${root}/tooling/bootstrap/child.mjs`)}
    await runChild(process.execPath, ['-e', ${JSON.stringify(launcher)}], { cwd: '.' })
  `
  const parent = spawn(process.execPath, ['--input-type=module', '-e', main], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = await once(parent.stdout, 'data')
  parent.kill('SIGTERM')
  const [code] = await once(parent, 'exit')

  expect(code).toBe(143)
  expect(isAlive(Number(printed))).toBe(false)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
