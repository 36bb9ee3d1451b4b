import { EGRESS_BRIDGE, EGRESS_SOCKET } from './bubblewrap.ts'

const PORT = 3128
const proxy = `http://127.0.0.1:${PORT}`
const local = 'localhost,127.0.0.1,::1'

/** Programs that a shell starts look for a proxy in these, each in its own spelling. */
export const egressEnvironment: Record<string, string> = {
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  ALL_PROXY: proxy,
  NO_PROXY: local,
  no_proxy: local,
  NODE_OPTIONS: `--require ${EGRESS_BRIDGE}`,
}

/**
 * Runs inside the box and decides nothing: what it cannot reach, nothing in the box can.
 *
 * It carries bytes between the loopback of the box and the socket of the agent's proxy. It is loaded into the program
 * itself if that is Node, which may not be allowed to start another, and wraps any other. Node's own clients do not know
 * proxies, so where it is loaded it also gives fetch, http and https connections that are already through.
 */
export const egressBridge = `'use strict'
const http = require('node:http')
const https = require('node:https')
const net = require('node:net')
const tls = require('node:tls')
const { isMainThread } = require('node:worker_threads')
const door = ${JSON.stringify(EGRESS_SOCKET)}

if (isMainThread) {
  const bridge = net.createServer({ allowHalfOpen: true }, (client) => {
    const way = net.connect({ path: door, allowHalfOpen: true })
    client.on('error', () => way.destroy())
    way.on('error', () => client.destroy())
    client.on('close', () => way.writableEnded || way.destroy())
    way.on('close', () => client.writableEnded || client.destroy())
    client.pipe(way)
    way.pipe(client)
  })
  // Another program of the same box may have opened it already.
  bridge.on('error', () => {})
  bridge.listen(${PORT}, '127.0.0.1')

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

const isInner = (host) => !host || host === 'localhost' || host === '::1' || /^127\\./.test(host)

function tunnel(host, port, done) {
  const target = (net.isIP(host) === 6 ? '[' + host + ']' : host) + ':' + port
  const socket = net.connect(door)
  let head = Buffer.alloc(0)
  const fail = (error) => {
    socket.destroy()
    done(error)
  }
  // Not with 'data': who gets the socket would have to know that it was made to flow and stopped.
  const read = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) head = Buffer.concat([head, chunk])
    const end = head.indexOf('\\r\\n\\r\\n')
    if (end < 0) return
    socket.off('readable', read)
    socket.off('error', fail)
    const text = head.toString('latin1', 0, end)
    if (!text.startsWith('HTTP/1.1 200 ')) {
      const reason = head.toString('latin1', end + 4).trim()
      return fail(Object.assign(new Error(target + ' cannot be reached from this sandbox. ' + reason), { code: 'ECONNREFUSED' }))
    }
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4))
    done(null, socket)
  }
  socket.on('readable', read)
  socket.on('error', fail)
  socket.write('CONNECT ' + target + ' HTTP/1.1\\r\\n\\r\\n')
}

const plain = http.Agent.prototype.createConnection
http.Agent.prototype.createConnection = function (options, done) {
  if (options.socketPath || isInner(options.host)) return plain.call(this, options, done)
  tunnel(options.host, options.port || 80, done)
}

const secure = https.Agent.prototype.createConnection
https.Agent.prototype.createConnection = function (options, done) {
  if (options.socketPath || isInner(options.host)) return secure.call(this, options, done)
  tunnel(options.host, options.port || 443, (error, socket) => {
    if (error) return done(error)
    done(null, secure.call(this, { ...options, socket, servername: options.servername || options.host }))
  })
}

const dispatcher = Symbol.for('undici.globalDispatcher.1')
const connect = ({ hostname, port, protocol, servername }, done) => {
  const isSecure = protocol === 'https:'
  if (isInner(hostname)) return secureOrNot(net.connect(port || (isSecure ? 443 : 80), hostname))
  tunnel(hostname, port || (isSecure ? 443 : 80), (error, socket) => (error ? done(error) : secureOrNot(socket)))

  function secureOrNot(socket) {
    const finished = isSecure ? tls.connect({ socket, servername: servername || hostname, ALPNProtocols: ['http/1.1'] }) : socket
    finished.once('error', done)
    const ready = () => {
      finished.off('error', done)
      done(null, finished)
    }
    if (isSecure) finished.once('secureConnect', ready)
    else if (socket.connecting) socket.once('connect', ready)
    else ready()
  }
}
const fetch = globalThis.fetch
globalThis.fetch = (...args) => {
  globalThis.fetch = fetch
  // The first use of any of its classes loads the client that fetch is made of.
  void globalThis.Response
  const Agent = globalThis[dispatcher]?.constructor
  if (Agent?.name === 'Agent') globalThis[dispatcher] = new Agent({ connect })
  return fetch(...args)
}
`
