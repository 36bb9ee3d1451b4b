import { homedir } from 'node:os'
import { join } from 'node:path'
import { openStage } from '../stage.ts'
import { openCompanyNetwork } from './company-network.ts'
import { managers } from './manager.ts'
import { type ManagerProof, proveManager } from './prove-manager.ts'
import { writeRegistries } from './registry-files.ts'

const named = process.argv.slice(2)
const unknown = named.filter((name) => !managers.some((manager) => manager.name === name))

if (unknown.length > 0) {
  process.stderr.write(`No package manager "${unknown[0]}": ${managers.map(({ name }) => name).join(', ')}\n`)
  process.exitCode = 2
} else {
  const proofs = await proveAll()
  const failed = proofs.filter(({ faults }) => faults.length > 0).length
  process.stdout.write(`${proofs.length - failed} passed, ${failed} failed\n`)
  process.exitCode = failed === 0 ? 0 : 1
}

async function proveAll(): Promise<ManagerProof[]> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'matrix/proving')
  await writeRegistries(join(cache, 'registries'))
  const network = await openCompanyNetwork(join(cache, 'registries'))
  // The daemon and the commands of a terminal find the proxy as they would in such a company.
  Object.assign(process.env, { HTTP_PROXY: network.proxy, HTTPS_PROXY: network.proxy })
  const stage = await openStage(join(cache, 'managers-stage'))
  const leave = () => void stage.close().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave)
  const proofs: ManagerProof[] = []
  try {
    for (const manager of managers.filter(({ name }) => named.length === 0 || named.includes(name))) {
      const proof = await proveManager(manager, { folder: join(cache, 'work-managers'), stage })
      proofs.push(proof)
      for (const line of describe(proof)) process.stdout.write(`${line}\n`)
    }
  } finally {
    await stage.close()
    await network.close()
  }
  return proofs
}

function describe({ name, installMs, refusedMs, faults }: ManagerProof): string[] {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const times = `installed in ${seconds(installMs)}, a refused host in ${seconds(refusedMs)}`
  return [
    `${faults.length === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(8)}${times}`,
    ...faults.map((fault) => `  ${fault}`),
  ]
}
