import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { openSandbox } from './sandbox.ts'
import { systemFiles } from './system-files.ts'

const sandbox = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(sandbox.isBoxing)
if (!sandbox.isBoxing) process.stderr.write('NOT TESTED: nothing can be boxed here.\n')

boxedTest('a server that listens on localhost is reached by name, over either protocol', async () => {
  const source = `
    const http = require('node:http')
    const seen = []
    const reach = (address) => new Promise((done) => {
      const server = http.createServer((_, response) => response.end('hello')).listen(0, address, async () => {
        const answer = await fetch('http://localhost:' + server.address().port)
        seen.push(await answer.text())
        server.close(done)
      })
    })
    reach('127.0.0.1').then(() => reach('::1')).then(() => reach('localhost')).then(() => console.log(seen.join()))
  `
  for (const sideEffects of [[], ['shell']] as const)
    expect(await run(process.execPath, ['-e', source], sideEffects)).toBe('hello,hello,hello\n')
})

boxedTest('localhost has both addresses, and so has the name of the machine', async () => {
  const lookUp = (name: string) =>
    run(process.execPath, [
      '-e',
      `require('dns').lookup('${name}', { all: true }, (_, all) => console.log(all.map((each) => each.address).sort().join()))`,
    ])

  expect(await lookUp('localhost')).toBe('127.0.0.1,::1\n')
  expect(await run('/bin/sh', ['-c', 'hostname; cat /etc/hostname'], ['shell'])).toBe('matrix\nmatrix\n')
  expect(await lookUp('matrix')).toBe('127.0.0.1,::1\n')
})

boxedTest('a name that needs a resolver is unknown at once', async () => {
  const source = `const from = Date.now(); require('dns').lookup('nowhere.example', ({ code }) => console.log(code, Date.now() - from < 2000))`

  expect(await run(process.execPath, ['-e', source])).toBe('ENOTFOUND true\n')
})

boxedTest('the one who runs inside has a name and a home, whichever way a program asks', async () => {
  const source = `const { username, homedir, shell } = require('os').userInfo(); console.log(username, homedir, shell, process.env.USER, process.env.HOME)`

  expect(await run(process.execPath, ['-e', source])).toBe('agent /home/agent /bin/bash agent /home/agent\n')
})

test('the people of this machine are not listed in a box, and its system users are', () => {
  const files = systemFiles({ uid: 54_321, gid: 54_321 })
  const passwd = files.find(({ target }) => target === '/etc/passwd')?.text ?? ''
  const numbers = passwd
    .trim()
    .split('\n')
    .map((line) => Number(line.split(':')[2]))

  expect(numbers.filter((id) => id >= 1000 && id !== 65_534)).toEqual([54_321])
  expect(passwd).toMatch(/^root:x:0:0:/m)
  if (userInfo().uid >= 1000) expect(passwd).not.toContain(userInfo().username)
})

async function run(program: string, args: string[], sideEffects: readonly 'shell'[] = []): Promise<string> {
  const running = await sandbox.spawn({ program, args, policy: { sideEffects } })
  return Buffer.concat(await running.stdout.toArray()).toString()
}
