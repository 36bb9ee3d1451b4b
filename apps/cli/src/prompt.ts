import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { MatrixError } from '@matrix/protocol'
import { InterruptedError } from './interrupt.ts'

/** Whether somebody sits there who can be asked. */
export function isInteractive(): boolean {
  return Boolean(process.stdin.isTTY && process.stderr.isTTY)
}

/** One line from the person at the terminal; questions go to stderr, so that stdout stays what programs read. */
export async function ask(question: string): Promise<string> {
  return (await askText(question)).toLowerCase()
}

/** The same, as it was typed. */
export function askText(question: string): Promise<string> {
  return readLine(createInterface({ input: process.stdin, output: process.stderr }), question)
}

/** Ctrl-C ends the command; Ctrl-D, or the end of what is typed, says nothing, which is never a yes. */
export async function readLine(terminal: Interface, question: string): Promise<string> {
  try {
    const text = await new Promise<string>((resolve, reject) => {
      terminal.once('SIGINT', () => reject(new InterruptedError()))
      terminal.once('close', () => resolve(''))
      terminal.question(question).then(resolve, reject)
    })
    return text.trim()
  } finally {
    terminal.close()
  }
}

/** Nothing that cannot be undone happens without a yes: from the person at the terminal, or given in advance. */
export async function confirm(question: string, { yes }: { yes?: boolean | undefined }): Promise<boolean> {
  if (yes) return true
  if (!isInteractive())
    throw new MatrixError('REQUEST_INVALID', `${question} Nobody is there to say yes.`, {
      hint: 'Add --yes if it is meant.',
    })
  return ['y', 'yes'].includes(await ask(`${question} [y/N] `))
}

/** A secret from the person at the terminal, which is not shown while it is typed; or the first line of standard input. */
export async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return readFirstLine()
  process.stderr.write(question)
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  try {
    return await readLine(createInterface({ input: process.stdin, output: silence, terminal: true }), '')
  } finally {
    process.stderr.write('\n')
  }
}

async function readFirstLine(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > 100_000) break
  }
  return (text.split('\n')[0] ?? '').trim()
}
