import { Client } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { type ProgramTransport, programTransport } from './program-transport.ts'
import { openSandbox } from './sandbox/sandbox.ts'

const sandbox = await openSandbox({ mode: 'off' })

/** Enough of a server to be connected to; `more` is what it does besides. */
const server = (more: string) => `
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize')
      say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })
    else { ${more} }
  })
`

test('messages go both ways, and noise between them is told and passed over', async () => {
  const { client, errors } = await connect(
    `console.log('listening on port 3000'); console.log('{"half": '); console.log('{"no":"message"}'); if (id) say({ id, result: { tools: [] } })`,
  )

  expect(await client.listTools()).toMatchObject({ tools: [] })
  expect(errors.length).toBeGreaterThan(0)
  await client.close()
})

test('case 33: a message longer than 10 MiB ends the connection, and the memory stays small', async () => {
  const before = process.memoryUsage().rss
  const flood = `const chunk = 'x'.repeat(1 << 20); if (id) { const more = () => { while (process.stdout.write(chunk)); process.stdout.once('drain', more) }; more() }`
  const { client, errors } = await connect(flood)

  await expect(client.listTools()).rejects.toThrow()
  expect(errors.join()).toContain('more than 10485760 bytes')
  expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20)
})

test('a program that comes up after its connection was closed is ended, and nothing is left', async () => {
  const program = await sandbox.spawn({
    program: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    policy: { sideEffects: [] },
  })
  const transport: ProgramTransport = programTransport(async () => {
    await transport.close()
    return program
  })

  await expect(transport.start()).rejects.toMatchObject({ code: 'SERVER_UNAVAILABLE' })
  expect(await program.exited).toMatchObject({ signal: 'SIGKILL' })
})

test('a server that ends in the middle of a call fails the call at once and leaves its last words', async () => {
  const { client, transport } = await connect(`if (id) { console.error('out of luck'); process.exit(3) }`)

  await expect(client.listTools()).rejects.toThrow()
  expect(transport.lastWords()).toBe('out of luck\n')
  await expect(transport.send({ jsonrpc: '2.0', method: 'ping' })).rejects.toMatchObject({ code: 'SERVER_UNAVAILABLE' })
})

test('a program that cannot be started is named', async () => {
  const start = () => sandbox.spawn({ program: '/no/such/program', policy: { sideEffects: [] } })
  const client = new Client({ name: 'test', version: '1.0.0' })

  await expect(client.connect(programTransport(start))).rejects.toThrow('/no/such/program could not be started')
})

test('a server that writes a flood to stderr is not held up by it', async () => {
  const { client, transport } = await connect(
    `if (id) { console.error('y'.repeat(5_000_000)); say({ id, result: { tools: [] } }) }`,
  )

  expect(await client.listTools()).toMatchObject({ tools: [] })
  expect(transport.lastWords().length).toBeLessThanOrEqual(8192)
  await client.close()
})

async function connect(more: string) {
  const launch = { program: process.execPath, args: ['-e', server(more)], policy: { sideEffects: [] } }
  const transport = programTransport(() => sandbox.spawn(launch))
  const client = new Client({ name: 'test', version: '1.0.0' })
  const errors: string[] = []
  client.onerror = (error) => errors.push(error.message)
  await client.connect(transport)
  return { client, transport, errors }
}
