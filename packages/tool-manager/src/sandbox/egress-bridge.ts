import { EGRESS_SOCKET } from './bubblewrap.ts'

export const EGRESS_PORT = 3128

/** Programs look for a proxy in these, each in its own spelling; Node itself only when it is told to. */
export const egressEnvironment: Record<string, string> = {
  HTTP_PROXY: `http://127.0.0.1:${EGRESS_PORT}`,
  HTTPS_PROXY: `http://127.0.0.1:${EGRESS_PORT}`,
  http_proxy: `http://127.0.0.1:${EGRESS_PORT}`,
  https_proxy: `http://127.0.0.1:${EGRESS_PORT}`,
  ALL_PROXY: `http://127.0.0.1:${EGRESS_PORT}`,
  NO_PROXY: 'localhost,127.0.0.1,::1',
  no_proxy: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
}

/**
 * Runs inside the box and carries bytes between its loopback and the socket of the proxy; it decides nothing.
 * It is loaded into the program itself if that is Node, which may not be allowed to start another, and wraps any other.
 */
export const egressBridge = `'use strict'
const net = require('node:net')
const { isMainThread } = require('node:worker_threads')

if (isMainThread) {
  const bridge = net.createServer((client) => {
    const door = net.connect(${JSON.stringify(EGRESS_SOCKET)})
    client.on('error', () => door.destroy())
    door.on('error', () => client.destroy())
    client.on('close', () => door.destroy())
    door.on('close', () => client.destroy())
    client.pipe(door)
    door.pipe(client)
  })
  bridge.on('error', () => {})
  bridge.listen(${EGRESS_PORT}, '127.0.0.1')

  if (require.main === module) {
    const [command, ...args] = process.argv.slice(2)
    const child = require('node:child_process').spawn(command, args, { stdio: 'inherit' })
    child.on('error', (error) => {
      console.error(error.message)
      process.exit(127)
    })
    child.on('exit', (code, signal) => process.exit(signal ? 137 : code))
  } else bridge.unref()
}
`
