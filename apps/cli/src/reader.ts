import { exitCode } from './exit-code.ts'

let leave: (error: NodeJS.ErrnoException) => void = (error) =>
  process.exit(error.code === 'EPIPE' ? exitCode.ok : exitCode.usage)

/** A reader that has seen enough, as in `matrix verify … | head`, is no fault: the command ends at once. */
export function watchReader(): void {
  process.stdout.on('error', (error) => leave(error))
}

/** For a command that has something to put in order before it ends. */
export function onReaderGone(act: () => void): void {
  leave = act
}
