import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, matrix } from '../matrix-process.testing.ts'

const playbook = JSON.stringify({ conversations: [{ name: 'story', turns: [{ text: 'Hello.' }, { text: 'Bye.' }] }] })

test('a playbook is played over HTTP as Anthropic and as OpenAI, and ends well when all of it was played', async () => {
  const mock = await play(playbook)
  const first = await ask(`${mock.anthropic}/v1/messages`, { max_tokens: 9 }, 'Hi')
  const second = await ask(`${mock.openai}/chat/completions`, {}, 'Hi')

  expect(first).toMatchObject({ content: [{ type: 'text', text: 'Hello.' }] })
  expect(second).toMatchObject({ choices: [{ message: { content: 'Bye.' } }] })
  expect(await mock.interrupt()).toEqual({ code: 0, last: { type: 'ended', problems: 0, unplayed: [] } })
})

test('at the end it is said what was wrong and what was never asked for, and the outcome says so too', async () => {
  const mock = await play(playbook)
  await ask(`${mock.anthropic}/v1/messages`, { max_tokens: 9 }, '')

  expect(await mock.nextLine()).toEqual({ type: 'problem', message: 'messages: text content blocks must be non-empty' })
  expect(await mock.interrupt()).toEqual({
    code: 1,
    last: { type: 'ended', problems: 1, unplayed: [{ name: 'story', turns: 2 }] },
  })
})

test('a playbook that is wrong is named with its file, line and field', async () => {
  const cwd = folderWith({ 'a.json': '{ "conversations": [\n{ "turns": [\n{ "texts": "no" } ] } ] }', 'b.json': '{' })

  expect(await matrix(['mock-provider', 'a.json'], { cwd })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a.json:3: conversations.0.turns.0: Unrecognized key: "texts"'),
  })
  expect(await matrix(['mock-provider', 'b.json'], { cwd })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('b.json:1: not JSON'),
  })
  expect(await matrix(['mock-provider', 'none.json'], { cwd })).toMatchObject({ code: 2 })
})

test('a port that is none, or is in use, is refused with what to do', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as AddressInfo
  const cwd = folderWith({ 'a.json': playbook })

  expect(await matrix(['mock-provider', 'a.json', '--port', '70000'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('70000 is not a port.'),
  })
  expect(await matrix(['mock-provider', 'a.json', '--port', `${port}`], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`Port ${port} is in use.`),
  })
})

type Playing = {
  anthropic: string
  openai: string
  nextLine(): Promise<object>
  interrupt(): Promise<{ code: number | null; last: object }>
}

async function play(text: string): Promise<Playing> {
  const bin = fileURLToPath(new URL('../../bin/matrix.js', import.meta.url))
  const file = join(folderWith({ 'playbook.json': text }), 'playbook.json')
  const child = spawn(process.execPath, [bin, 'mock-provider', file, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => JSON.parse((await lines.next()).value ?? 'null')
  const { anthropic, openai } = await nextLine()
  return {
    anthropic,
    openai,
    nextLine,
    async interrupt() {
      child.kill('SIGINT')
      return { last: await nextLine(), code: await ended }
    },
  }
}

async function ask(url: string, more: object, content: string): Promise<unknown> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more })
  return (await fetch(url, { method: 'POST', body })).json()
}
