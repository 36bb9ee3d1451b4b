import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

/** What a process has written to a file, once it has. */
export async function appeared(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text.endsWith('\n')) return text
    await wait(20)
  }
}

/** Waits until a process is gone; one that goes on is what the test's timeout is for. */
export async function ended(pid: number): Promise<void> {
  while (pid > 0 && (await isRunning(pid))) await wait(20)
}

/** Something that has ended and that nobody has asked about is not running. */
export async function isRunning(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return state !== '' && !/\) Z /.test(state)
}
