import type { Clock } from '@matrix/event-store'

/** Files beside the sessions and the tree: settings, registries, an agent's memory. */
export type Files = {
  /** Undefined when there is no such file. What others may have put `inside` a folder is not read through a link that leads out of it. */
  read(path: string, options?: { inside: string }): Promise<string | undefined>
  /** Replaces the file whole, durably, readable only by its owner. */
  write(path: string, text: string): Promise<void>
  isDirectory(path: string): Promise<boolean>
  /** Where a file or folder really is, all links followed; undefined where there is none. */
  realPath(path: string): Promise<string | undefined>
  /** The names in a folder, sorted; none where there is no such folder. */
  list(folder: string): Promise<string[]>
}

/** What everything else in the orchestrator takes from outside. A test or a simulation brings its own. */
export type World = {
  clock: Clock
  /** At least 0, below 1. */
  random(): number
  /** A new ULID. */
  newId(): string
  files: Files
  env(name: string): string | undefined
}

export function isoNow({ clock }: World): string {
  return new Date(clock.now()).toISOString()
}
