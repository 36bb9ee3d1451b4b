import { printError } from './terminal.ts'

const patienceMs = 1500
export const awayText = 'The daemon does not answer. Waiting for it to come back.'

/** Tells once that the daemon is away and once that it is back; a connection that is only made anew is nobody's business. */
export function noteConnection(tell: (isAway: boolean) => void = printConnection): (isOpen: boolean) => void {
  let timer: NodeJS.Timeout | undefined
  let isAway = false
  return (isOpen) => {
    if (!isOpen) {
      timer ??= setTimeout(() => {
        isAway = true
        tell(true)
      }, patienceMs).unref()
      return
    }
    clearTimeout(timer)
    timer = undefined
    if (isAway) tell(false)
    isAway = false
  }
}

export function printConnection(isAway: boolean): void {
  printError(isAway ? awayText : 'The daemon is back.')
}
