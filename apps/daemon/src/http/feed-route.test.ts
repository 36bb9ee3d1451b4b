import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createClient, type Fetch } from '@matrix/client'
import { createLocalFetch } from '@matrix/client/node'
import type { Frame } from '@matrix/protocol/http'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ask, openBrowser, startTestDaemon, type TestDaemon } from '../daemon.testing.ts'
import { delta, projectId, taskId } from '../scripted-orchestrator.testing.ts'

const other = '01K00000000000000000000002'
const ofSession = `?projectId=${projectId}&taskId=${taskId}&after=0`

let daemon: TestDaemon
let stop: AbortController
beforeEach(async () => {
  daemon = await startTestDaemon()
  stop = new AbortController()
})
afterEach(async () => {
  stop.abort()
  await daemon.close()
})

test('a newcomer is told to read everything once, and then sees all that happens', async () => {
  const frames = watch({})
  await until(() => frames.length === 1)
  daemon.orchestrator.say('hello')
  daemon.orchestrator.emit({ kind: 'config', projectId: null })
  await until(() => frames.length === 3)

  expect(frames[0]).toEqual({ kind: 'resync', reason: 'start' })
  expect(frames[1]).toMatchObject({ kind: 'event', seq: 1, event: { text: 'hello' } })
  expect(frames[2]).toEqual({ kind: 'config', projectId: null })
})

test('filters by project and by task hold back everything else', async () => {
  const elsewhere = '01K00000000000000000000009'
  const [ofTask, ofProject, ofOther] = [
    watch({ projectId, taskId }),
    watch({ projectId }),
    watch({ projectId: elsewhere }),
  ]
  await until(() => ofTask.length + ofProject.length + ofOther.length === 3)
  daemon.orchestrator.say('mine')
  daemon.orchestrator.say('of another task', other)
  daemon.orchestrator.emit({ kind: 'config', projectId: null })
  await until(() => ofProject.length === 4 && ofOther.length === 2)

  expect(textsOf(ofTask)).toEqual(['mine'])
  expect(textsOf(ofProject)).toEqual(['mine', 'of another task'])
  expect(ofOther.map(({ kind }) => kind)).toEqual(['resync', 'config'])
})

test('a session is caught up with from its log, and goes on live without a gap or a repeat', async () => {
  for (let n = 1; n <= 950; n += 1) daemon.orchestrator.append(`${n}`)
  const frames = watch({ projectId, taskId, after: 3 })
  // While the log is being read, more happens.
  for (let n = 951; n <= 1000; n += 1) {
    daemon.orchestrator.say(`${n}`)
    if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await until(() => seqsOf(frames).length >= 997)

  expect(seqsOf(frames)).toEqual(Array.from({ length: 997 }, (_, index) => index + 4))
})

test('an event that is in the log before it is announced comes once', async () => {
  daemon.orchestrator.say('one')
  const announce = daemon.orchestrator.append('two')
  const { socket, text } = await openRawStream(ofSession)
  await until(() => text().includes('two'))
  announce()
  daemon.orchestrator.say('three')
  await until(() => text().includes('three'))

  expect([...text().matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq))).toEqual([1, 2, 3])
  socket.destroy()
})

test('text that the log has overtaken is not streamed again', async () => {
  daemon.orchestrator.say('one')
  const reads = daemon.orchestrator.holdReads()
  const frames = watch({ projectId, taskId, after: 0 })
  await reads.begun
  daemon.orchestrator.emit(delta('tw'))
  daemon.orchestrator.say('two')
  daemon.orchestrator.emit(delta('thr'))
  reads.release()
  await until(() => frames.some(({ kind }) => kind === 'live'))
  daemon.orchestrator.say('three')
  await until(() => seqsOf(frames).length === 3)
  const texts = frames.flatMap((frame) => ('event' in frame && 'text' in frame.event ? [frame.event.text] : []))

  expect(texts).toEqual(['one', 'two', 'thr', 'three'])
})

test('a session that was reset is followed from its new beginning', async () => {
  for (const text of ['one', 'two', 'three']) daemon.orchestrator.say(text)
  const frames = watch({ projectId, taskId, after: 3 })
  await until(() => frames.length === 1)
  daemon.orchestrator.reset()
  daemon.orchestrator.say('again')
  await until(() => seqsOf(frames).length === 1)
  const late = watch({ projectId, taskId, after: 3 })
  await until(() => seqsOf(late).length === 1)

  expect([textsOf(frames), textsOf(late)]).toEqual([['again'], ['again']])
})

test('a task that nobody knows is refused before anything is streamed', async () => {
  const stream = daemon.local.events({ projectId, taskId: other, after: 0 })

  await expect(stream.next()).rejects.toMatchObject({ code: 'TASK_UNKNOWN' })
})

test('`after` without its task is refused and named', async () => {
  const url = `${daemon.url}/api/events?after=3`
  const { status, json } = await ask(url, { headers: { authorization: `Bearer ${daemon.token}` } })

  expect([status, json().field]).toEqual([400, 'query.after'])
})

test('1,000 frames over connections that break at random are each seen once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.integer({ min: 1, max: 20 })), async (lives) => {
      const first = daemon.orchestrator
      first.reset()
      first.reset(other)
      const fetch = breakingFetch(lives)
      const done = new AbortController()
      const all = watch({ fetch, signal: done.signal })
      const one = watch({ fetch, signal: done.signal, projectId, taskId, after: 0 })
      await until(() => all.length === 1)
      for (let n = 1; n <= 500; n += 1) {
        first.say(`${n}`)
        first.say(`${n}`, other)
        if (n % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await until(() => seqsOf(all).length >= 1000 && seqsOf(one).length >= 500)
      done.abort()

      const wanted = Array.from({ length: 500 }, (_, index) => index + 1)
      expect(seqsOf(one)).toEqual(wanted)
      expect(seqsOf(all.filter((frame) => 'taskId' in frame && frame.taskId === taskId))).toEqual(wanted)
      expect(seqsOf(all.filter((frame) => 'taskId' in frame && frame.taskId === other))).toEqual(wanted)
      // Everything was still in the ring: nobody had to read anything again.
      expect(all.filter(({ kind }) => kind === 'resync')).toHaveLength(1)
    }),
    { numRuns: Number(process.env.MATRIX_FEED_RUNS ?? 2) },
  )
}, 120_000)

test('after a restart readers are told, and a session goes on from its last seq', async () => {
  const everything = watch({})
  await until(() => everything.length === 1)
  daemon.orchestrator.say('one')
  const session = watch({ projectId, taskId, after: 0 })
  await until(() => seqsOf(session).length === 1 && seqsOf(everything).length === 1)
  const { port, dataDirectory, token } = daemon
  await daemon.daemon.close()
  const again = await startTestDaemon({ port, dataDirectory })
  // The same sessions, as they lie on the disk, with what was said before anyone was back.
  again.orchestrator.append('one')
  again.orchestrator.append('two')
  await until(() => everything.some((frame) => frame.kind === 'resync' && frame.reason === 'restarted'))
  again.orchestrator.say('three')
  await until(() => seqsOf(session).length === 3)

  expect(again.token).not.toBe(token)
  expect(textsOf(session)).toEqual(['one', 'two', 'three'])
  expect(textsOf(everything)).toEqual(['one', 'three'])
  await again.close()
})

test('a session that was reset while nobody could be heard is followed from its new beginning, however long it is by then', async () => {
  for (const text of ['one', 'two']) daemon.orchestrator.append(text)
  const session = watch({ projectId, taskId, after: 0 })
  await until(() => seqsOf(session).length === 2)
  const { port, dataDirectory } = daemon
  await daemon.daemon.close()
  const again = await startTestDaemon({ port, dataDirectory })
  again.orchestrator.reset()
  for (const text of ['another one', 'another two', 'three']) again.orchestrator.append(text)
  await until(() => textsOf(session).includes('three'))

  expect(textsOf(session)).toEqual(['one', 'two', 'another one', 'another two', 'three'])
  await again.close()
})

test('a reader that takes nothing costs a bounded amount of memory, is told that it was too slow, and goes on', async () => {
  await daemon.close()
  daemon = await startTestDaemon({ feedLimits: { bytes: 2e6 } })
  const slow = await openRawStream()
  slow.socket.pause()
  const before = heldBytes()
  for (let n = 0; n < 3000; n += 1) {
    daemon.orchestrator.say('x'.repeat(20_000))
    if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  // 60 MB have gone by; the ring may hold 2 of them. What nobody holds any more is given back in its own time.
  await until(() => heldBytes() - before < 10e6)
  slow.socket.resume()
  // It may fall behind several times; with the cursor of the last frame it has caught up.
  await until(() => slow.text().includes('.3000\n'))
  daemon.orchestrator.say('the end')
  await until(() => slow.text().includes('the end'))

  expect(slow.text()).toContain('"too_slow"')
  slow.socket.destroy()
})

test('a reader of a session that was too slow loses no event all the same', async () => {
  await daemon.close()
  daemon = await startTestDaemon({ feedLimits: { bytes: 1e6 } })
  daemon.orchestrator.say('first')
  const slow = await openRawStream(ofSession)
  slow.socket.pause()
  for (let n = 2; n <= 500; n += 1) {
    daemon.orchestrator.say('x'.repeat(20_000))
    if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  slow.socket.resume()
  await until(() => slow.text().includes('"seq":500'))
  const seqs = [...slow.text().matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq))

  expect(seqs).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
  expect(slow.text()).toContain('"too_slow"')
  slow.socket.destroy()
})

test('the stream of a device ends when it signs out', async () => {
  const browser = await openBrowser(daemon)
  const ended: string[] = []
  const listen = async (name: string) => {
    try {
      for await (const _ of browser.client.events({ signal: stop.signal })) ended.push('frame')
    } catch (error) {
      ended.push(`${name}: ${(error as { code: string }).code}`)
    }
  }
  const first = listen('signed out')
  await until(() => ended.length === 1)
  const start = performance.now()
  await browser.client.signOut()
  await first

  // At once, and not with the next heartbeat.
  expect(performance.now() - start).toBeLessThan(10_000)
  expect(ended).toEqual(['frame', 'signed out: AUTH_REQUIRED'])
})

test('what happens alone does not wait, and text that comes in pieces is sent in one', async () => {
  const frames = watch({})
  await until(() => frames.length === 1)
  daemon.orchestrator.say('now')
  await until(() => frames.length === 2)
  daemon.orchestrator.emit(delta('Good '))
  daemon.orchestrator.emit(delta('morning'))
  await until(() => frames.length === 3)

  expect(frames[2]).toMatchObject({ kind: 'live', event: { text: 'Good morning' } })
})

type WatchOptions = { projectId?: string; taskId?: string; after?: number; fetch?: Fetch; signal?: AbortSignal }

/** Collects what a client sees; ends with the test. */
function watch({ fetch, signal = stop.signal, ...filter }: WatchOptions): Frame[] {
  const frames: Frame[] = []
  const client = createClient({ baseUrl: daemon.url, token: daemon.token, fetch: fetch ?? tokenFetch() })
  const read = async () => {
    for await (const frame of client.events({ ...filter, signal })) frames.push(frame)
  }
  read().catch((error) => {
    if (!signal.aborted) throw error
  })
  return frames
}

/** The token changes with every start of the daemon, so that it is read again as the command line does. */
function tokenFetch(): Fetch {
  const local = createLocalFetch()
  return async (url, request) => {
    const { readFile } = await import('node:fs/promises')
    const token = (await readFile(daemon.tokenFile, 'utf8')).trim()
    return local(url, { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } })
  }
}

/** Every connection dies after some milliseconds, in the middle of whatever it was doing. */
function breakingFetch(lives: Iterator<number>): Fetch {
  const local = createLocalFetch()
  return async (url, { signal, ...request }) => {
    const connection = new AbortController()
    signal?.addEventListener('abort', () => connection.abort())
    const response = await local(url, { ...request, signal: connection.signal })
    setTimeout(() => connection.abort(), lives.next().value * 8)
    return response
  }
}

async function openRawStream(query = ''): Promise<{ socket: Socket; text(): string }> {
  const socket = connect(daemon.port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  const head = [
    `GET /api/events${query} HTTP/1.1`,
    `Host: 127.0.0.1:${daemon.port}`,
    `Authorization: Bearer ${daemon.token}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await until(() => text.includes('"resync"'))
  return { socket, text: () => text }
}

/** What buffers hold once everything that is not needed has been collected. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().arrayBuffers
}

function seqsOf(frames: Frame[]): number[] {
  return frames.flatMap((frame) => (frame.kind === 'event' ? [frame.seq] : []))
}

function textsOf(frames: Frame[]): unknown[] {
  return frames.flatMap((frame) => (frame.kind === 'event' && 'text' in frame.event ? [frame.event.text] : []))
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !condition(); ) {
    if (Date.now() > end) throw new Error('what was waited for did not happen')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
