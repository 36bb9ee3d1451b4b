import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { giveTree, openSandbox, resolveIdentity, type Sandbox } from '@matrix/tool-manager'
import { type Benchmark, type Figure, median } from '../figure.ts'

const ROUNDS = 9
const get = ['-s', '-k', '-o', '/dev/null', '-w', '%{time_total}']

/** A server in a process of its own: the proxy of the sandbox runs in this one. */
const server = `
const fs = require('node:fs')
const [key, cert] = process.argv.slice(1).map((file) => fs.readFileSync(file))
const body = Buffer.alloc(50 << 20, 'x')
const server = require('node:https').createServer({ key, cert }, (_, reply) => reply.end(body))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

/** What the way out of a sandbox costs: a download of 50 MB over HTTPS, as package managers make them. */
export const benchmark: Benchmark = {
  name: 'network of the sandbox',
  async measure() {
    const sandbox = await openSandbox({ mode: 'auto' })
    if (!sandbox.status.available) {
      process.stderr.write(`not measured: ${sandbox.status.reason} Try: ${sandbox.status.fix}\n`)
      return []
    }
    const folder = mkdtempSync(join(tmpdir(), 'matrix-bench-'))
    chmodSync(folder, 0o755)
    const host = startServer(folder)
    try {
      const [port] = (await once(host.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
      return [await measureDownload(sandbox, folder, `127.0.0.1:${String(port).trim()}`)]
    } finally {
      host.kill()
      rmSync(folder, { recursive: true })
    }
  },
}

async function measureDownload(sandbox: Sandbox, folder: string, address: string): Promise<Figure> {
  const worktree = join(folder, 'worktree')
  mkdirSync(worktree)
  const identity = resolveIdentity()
  if (identity) giveTree(worktree, identity)
  // The loopback is left out of the proxy by its own rules, and stands for the outside here.
  const command = `curl ${get.join(' ')} --noproxy "" https://${address}/`
  const boxed = async () => {
    const running = await sandbox.spawn({
      program: '/bin/bash',
      args: ['-c', command],
      policy: { sideEffects: ['read', 'shell', 'network'], worktree, hosts: [address] },
    })
    return Number(Buffer.concat(await running.stdout.toArray()))
  }
  const direct = async () => Number((await promisify(execFile)('curl', [...get, `https://${address}/`])).stdout)
  const [ours, floor]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    floor.push(await direct())
    ours.push(await boxed())
  }
  return {
    name: '50 MB over HTTPS through the proxy',
    unit: 's',
    ours: median(ours),
    floor: median(floor),
    against: 'curl without a sandbox',
    limit: 1.5,
  }
}

function startServer(folder: string): ChildProcess {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const args = ['req', ...kind, '-subj', '/CN=localhost', '-keyout', key, '-out', cert]
  execFileSync('/usr/bin/openssl', args, { stdio: 'ignore' })
  return spawn(process.execPath, ['-e', server, key, cert], { stdio: ['ignore', 'pipe', 'inherit'] })
}
