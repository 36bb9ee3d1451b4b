import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

// Started by the benchmark as a process of its own: everybody who watches a server, and how late they learn what an agent says.

/** Where each listener listens: to one task, or to everything. */
export type Watch = { port: number; token: string; projectId: string; taskIds: (string | null)[] }
export type Heard = { p95Ms: number; deltas: number; frames: Recorded[] }
/** A frame as it came to somebody who hears everything, and when. */
export type Recorded = { atMs: number; frame: { kind: string; taskId?: string; task?: { id: string } } }

let delays: number[] = []
let frames: Recorded[] = []
let isRecording = false
const sockets: Socket[] = []

process.on('message', async (order: { watch?: Watch; record?: boolean; report?: true }) => {
  if (order.watch) {
    for (const socket of sockets.splice(0)) socket.destroy()
    const { taskIds, ...server } = order.watch
    for (const [index, taskId] of taskIds.entries()) sockets.push(await listen(server, taskId, index === 0))
  }
  if (order.record !== undefined) {
    isRecording = order.record
    delays = []
    frames = []
  }
  process.send?.(order.report ? report() : {})
})
process.on('disconnect', () => process.exit(0))

function report(): Heard {
  isRecording = false
  delays.sort((a, b) => a - b)
  const start = frames[0]?.atMs ?? 0
  const relative = frames.map(({ atMs, frame }) => ({ atMs: atMs - start, frame }))
  return { p95Ms: delays[Math.floor(delays.length * 0.95)] ?? Number.NaN, deltas: delays.length, frames: relative }
}

async function listen(server: Omit<Watch, 'taskIds'>, taskId: string | null, keeps: boolean): Promise<Socket> {
  const { port, token, projectId } = server
  const filter = taskId === null ? '' : `?projectId=${projectId}&taskId=${taskId}`
  const socket = connect(port, '127.0.0.1')
  const head = [`GET /api/events${filter} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`]
  socket.on('error', () => {})
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  let rest = ''
  socket.on('data', (chunk: Buffer) => {
    if (!isRecording) return
    const text = rest + chunk.toString('latin1')
    const end = text.lastIndexOf('\n\n') + 2
    rest = end > 1 ? text.slice(end) : text
    if (end > 1) hear(text.slice(0, end), keeps)
  })
  return socket
}

function hear(text: string, keeps: boolean): void {
  const now = Date.now()
  for (const line of text.split('\n')) {
    if (!line.startsWith('data: ')) continue
    // What was said in pieces is stored as a whole later; only the pieces tell how long they took.
    if (line.includes('"text_delta"'))
      for (const [, sentAt] of line.matchAll(/@(\d{13})@/g)) delays.push(now - Number(sentAt))
    if (keeps) frames.push({ atMs: performance.now(), frame: JSON.parse(line.slice(6)) })
  }
}
