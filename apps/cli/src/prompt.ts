import { createInterface } from 'node:readline/promises'

/** Whether somebody sits there who can be asked. */
export function isInteractive(): boolean {
  return Boolean(process.stdin.isTTY && process.stderr.isTTY)
}

/** One line from the person at the terminal; questions go to stderr, so that stdout stays what programs read. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await terminal.question(question)).trim().toLowerCase()
  } finally {
    terminal.close()
  }
}
