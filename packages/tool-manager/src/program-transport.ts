import { MatrixError } from '@matrix/protocol'
import { deserializeMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client'
import { openLineBuffer } from './line-buffer.ts'
import type { RunningProgram } from './sandbox/running-program.ts'

/** MCP over the pipes of a program that somebody else knows how to start, which the SDK's own transport cannot leave to them. */
export type ProgramTransport = Transport & {
  /** The end of what the program wrote to stderr: for the person who asks why it does not answer. */
  lastWords(): string
}

/** One message longer than this ends the connection: memory is the daemon's, not the server's. */
const MAX_MESSAGE_BYTES = 10 << 20
const MAX_LAST_WORDS = 8192

export function programTransport(start: () => Promise<RunningProgram>): ProgramTransport {
  const lines = openLineBuffer(MAX_MESSAGE_BYTES)
  let program: RunningProgram | undefined
  let isClosed = false
  let hasSpoken = false
  let words = ''

  const transport: ProgramTransport = {
    lastWords: () => words,

    async start() {
      const started = await start()
      if (isClosed) {
        await started.stop(0)
        throw new MatrixError('SERVER_UNAVAILABLE', 'The connection was closed before the server was up.')
      }
      program = started
      program.stdout.on('data', receive)
      // Read even if nobody asks: a full pipe would stop the program.
      program.stderr.on('data', (chunk: Buffer) => {
        words = (words + chunk.toString('utf8')).slice(-MAX_LAST_WORDS)
      })
      void program.exited.then(() => {
        program = undefined
        transport.onclose?.()
      })
    },

    async send(message) {
      if (!program) throw new MatrixError('SERVER_UNAVAILABLE', 'The server is not running.')
      const { stdin, exited } = program
      if (stdin.write(serializeMessage(message))) return
      await Promise.race([new Promise((done) => stdin.once('drain', done)), exited])
    },

    async close() {
      isClosed = true
      // One that never said a word has nothing to bring to an end.
      await program?.stop(hasSpoken ? undefined : 0)
    },
  }

  function receive(chunk: Buffer): void {
    hasSpoken = true
    try {
      for (const line of lines.add(chunk)) deliver(line)
    } catch (error) {
      program?.stdout.off('data', receive)
      transport.onerror?.(error as Error)
      void program?.stop(0)
    }
  }

  /** What is no message is told and passed over, so that a server which prints is noisy rather than broken. */
  function deliver(line: string): void {
    try {
      transport.onmessage?.(deserializeMessage(line))
    } catch (error) {
      transport.onerror?.(error as Error)
    }
  }

  return transport
}
