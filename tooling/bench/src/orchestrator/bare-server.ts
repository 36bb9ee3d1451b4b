import { closeSync, fdatasync, openSync, writeSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Recorded } from './listeners.ts'

// Started by the benchmark as a process of its own: the least that makes the same frames durable and brings them to the same
// listeners, at the same pace.

const syncData = promisify(fdatasync)
const everything = new Set<ServerResponse>()
const byTask = new Map<string, Set<ServerResponse>>()
const files = new Map<string, number>()
const [folder = ''] = process.argv.slice(2)

const server = createServer((request, response) => {
  const taskId = new URL(request.url ?? '', 'http://bare').searchParams.get('taskId')
  const listeners = taskId === null ? everything : (byTask.get(taskId) ?? new Set())
  if (taskId !== null) byTask.set(taskId, listeners)
  listeners.add(response)
  response.on('close', () => listeners.delete(response))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': \n\n')
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', async ({ frames }: { frames: Recorded[] }) => {
  const start = performance.now()
  const before = process.cpuUsage()
  const storing: Promise<void>[] = []
  for (const [n, { atMs, frame }] of frames.entries()) {
    const early = atMs - (performance.now() - start)
    if (early > 1) await sleep(early)
    if (frame.kind === 'event') storing.push(store(frame).then(() => send(n, frame)))
    else send(n, frame)
  }
  await Promise.all(storing)
  await sleep(50)
  const { user, system } = process.cpuUsage(before)
  for (const file of files.values()) closeSync(file)
  files.clear()
  process.send?.({ cpuMs: (user + system) / 1000 })
})
process.on('disconnect', () => process.exit(0))

async function store(frame: Recorded['frame']): Promise<void> {
  const name = `${frame.taskId}.jsonl`
  const file = files.get(name) ?? openSync(join(folder, name), 'a')
  files.set(name, file)
  writeSync(file, `${JSON.stringify(frame)}\n`)
  await syncData(file)
}

function send(n: number, frame: Recorded['frame']): void {
  const bytes = Buffer.from(`id: e.${n}\ndata: ${JSON.stringify(frame)}\n\n`)
  for (const response of everything) response.write(bytes)
  for (const response of byTask.get(frame.taskId ?? frame.task?.id ?? '') ?? []) response.write(bytes)
}
