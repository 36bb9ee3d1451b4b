import { EGRESS_SOCKET } from './bubblewrap.ts'
import { INSIDE_REQUEST } from './inside-line.ts'

/** Outside of the range that the kernel gives away, and of what projects are known to use. */
export const EGRESS_PORT = 24_731
const proxy = `http://127.0.0.1:${EGRESS_PORT}`
const local = 'localhost,.localhost,127.0.0.1,127.0.0.0/8,0.0.0.0,::1'
const javaProxy = ['http', 'https']
  .map((scheme) => `-D${scheme}.proxyHost=127.0.0.1 -D${scheme}.proxyPort=${EGRESS_PORT}`)
  .concat('-Dhttp.nonProxyHosts=localhost|127.*|0.0.0.0|[::1]')
  .join(' ')

/**
 * Programs that a shell starts look for a proxy in these, each in its own spelling. None of them makes a program print
 * anything, or loads code into it: a test has to end as it does outside.
 */
export const egressEnvironment: Record<string, string> = {
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  ALL_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  all_proxy: proxy,
  NO_PROXY: local,
  no_proxy: local,
  YARN_HTTP_PROXY: proxy,
  YARN_HTTPS_PROXY: proxy,
  MAVEN_OPTS: javaProxy,
  GRADLE_OPTS: javaProxy,
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
  const begin = () => {
    const [command, ...args] = process.argv.slice(2)
    const child = require('node:child_process').spawn(command, args, { stdio: 'inherit' })
    child.on('error', (error) => {
      console.error(error.message)
      process.exit(127)
    })
    child.on('exit', (code, signal) => process.exit(signal ? 137 : code))
  }
  const isWrapper = require.main === module
  // The program finds the proxy from its first moment. Another one of the same box may have opened it already.
  bridge.on('error', () => isWrapper && begin())
  bridge.on('listening', () => isWrapper && begin())
  bridge.listen(${EGRESS_PORT}, '127.0.0.1')
  offer(0)
  if (!isWrapper) bridge.unref()
}

// Holds one connection ready, on which it is told a port; then the next one.
function offer(failures) {
  const line = net.connect({ path: door, allowHalfOpen: true })
  line.unref()
  line.on('error', () => line.destroy())
  line.on('close', () => {
    if (!line.used && failures < 5) setTimeout(offer, 200, failures + 1).unref()
  })
  line.write('${INSIDE_REQUEST}\\r\\n\\r\\n')
  line.once('data', (chunk) => {
    line.used = true
    offer(0)
    const port = Number(chunk)
    const enter = (hosts) => {
      const target = net.connect({ port, host: hosts[0], allowHalfOpen: true })
      target.once('error', () => (hosts.length > 1 ? enter(hosts.slice(1)) : line.end('-')))
      target.once('connect', () => {
        target.removeAllListeners('error')
        target.on('error', () => line.destroy())
        line.on('close', () => target.destroy())
        line.write('+')
        line.pipe(target)
        target.pipe(line)
      })
    }
    line.pause()
    enter(['127.0.0.1', '::1'])
  })
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
      return fail(Object.assign(new Error('Refused by the sandbox: ' + reason), { code: 'ECONNREFUSED' }))
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
