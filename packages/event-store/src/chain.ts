import { hash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { Bytes } from './bytes.ts'

/** Whole lines inside a buffer, the first of which must have this seq. */
export type Span = { bytes: Bytes; start: number; end: number; seq: number }

/** What a check found: how many lines hold, and where the first one that does not begins. */
export type ChainVerdict = { lines: number; badAt: number | undefined }

export type ChainChecker = { check(span: Span): Promise<ChainVerdict>; close(): Promise<void> }

/**
 * Checks seq and sum of every line. Hashing costs half as much as parsing, so long spans go to a thread of their own
 * while the caller parses; short ones are not worth the trip.
 */
export function openChainChecker({ threadFrom = 192 * 1024 }: { threadFrom?: number } = {}): ChainChecker {
  let thread: CheckThread | undefined

  return {
    async check(span) {
      const { bytes, start, end, seq } = span
      if (end - start < threadFrom || !(bytes.buffer instanceof SharedArrayBuffer))
        return verdict(checkLines(hash, bytes, start, end, seq))
      thread ??= startThread()
      return verdict(await thread.check(span))
    },
    async close() {
      await thread?.stop()
      thread = undefined
    },
  }
}

/**
 * Answers [lines that hold, offset of the first that does not or -1]. It travels to the thread as text, so it uses
 * nothing but its arguments and holds no function of its own. Bytes are compared one by one: making strings of them
 * would take as long as the hash.
 */
function checkLines(
  sha: typeof hash,
  bytes: Bytes,
  start: number,
  end: number,
  firstSeq: number,
): [lines: number, badAt: number] {
  const before = ',"sum":"'
  let at = start
  let seq = firstSeq
  for (; at < end; seq += 1) {
    const newline = bytes.indexOf(10, at)
    const tail = newline - 42
    if (newline < 0 || newline >= end || tail <= at) break
    const prefix = `{"seq":${seq},`
    let same = bytes[newline - 2] === 34 && bytes[newline - 1] === 125
    for (let index = 0; same && index < prefix.length; index += 1) same = bytes[at + index] === prefix.charCodeAt(index)
    for (let index = 0; same && index < 8; index += 1) same = bytes[tail + index] === before.charCodeAt(index)
    if (!same) break
    // Only the first line of a file has nothing before it to cover.
    const sum = sha('sha256', bytes.subarray(seq === 0 ? at : at - 35, tail))
    for (let index = 0; same && index < 32; index += 1) same = bytes[tail + 8 + index] === sum.charCodeAt(index)
    if (!same) break
    at = newline + 1
  }
  return [seq - firstSeq, at < end ? at : -1]
}

type CheckThread = { check(span: Span): Promise<[number, number]>; stop(): Promise<void> }

// The package runs as TypeScript in its own repository, as JavaScript when published and inside one bundled file in an
// application; only text reaches a thread the same way from all three.
const threadSource = `
const { parentPort } = require('node:worker_threads')
const { hash } = require('node:crypto')
const checkLines = ${checkLines.toString()}
parentPort.on('message', ({ id, shared, start, end, seq }) =>
  parentPort.postMessage({ id, result: checkLines(hash, Buffer.from(shared), start, end, seq) }))
`

function startThread(): CheckThread {
  const waiting = new Map<number, { resolve(result: [number, number]): void; reject(error: Error): void }>()
  let lastId = 0
  const worker = new Worker(threadSource, { eval: true })
  // An idle checker must not keep a finished program alive; one with work to do must.
  worker.unref()
  worker.on('message', ({ id, result }) => {
    waiting.get(id)?.resolve(result)
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
  })
  const end = (error: Error) => {
    for (const one of waiting.values()) one.reject(error)
    waiting.clear()
  }
  worker.on('error', end)
  worker.on('exit', () => end(new Error('Whoever read this was closed.')))

  return {
    check({ bytes, start, end, seq }) {
      lastId += 1
      const id = lastId
      worker.ref()
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker.postMessage({ id, shared: bytes.buffer, start, end, seq })
      })
    },
    async stop() {
      await worker.terminate()
    },
  }
}

function verdict([lines, badAt]: [number, number]): ChainVerdict {
  return { lines, badAt: badAt < 0 ? undefined : badAt }
}
