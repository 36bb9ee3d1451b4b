import type { Overlap } from '@matrix/protocol/http'

type OverlapTask = Overlap['tasks'][number]

/** What two branches have in common. */
export type Meeting = { key: string; tasks: [OverlapTask, OverlapTask]; files: string[]; conflicts: string[] }

export type OverlapMap = {
  /** Those in most trouble first. */
  tasks: OverlapTask[]
  meetings: Meeting[]
  find(one: string, other: string): Meeting | undefined
}

/** Who meets whom, and where. Tasks that would conflict come first, so that the trouble is in one corner of the map. */
export function toOverlapMap(overlaps: readonly Overlap[]): OverlapMap {
  const meetings = new Map<string, Meeting>()
  for (const { path, tasks, conflicts } of overlaps) {
    const clashing = new Set(conflicts.map(([one, other]) => keyOf(one, other)))
    for (const [index, one] of tasks.entries())
      for (const other of tasks.slice(index + 1)) {
        const key = keyOf(one.taskId, other.taskId)
        const meeting = meetings.get(key) ?? { key, tasks: [one, other], files: [], conflicts: [] }
        meeting.files.push(path)
        if (clashing.has(key)) meeting.conflicts.push(path)
        meetings.set(key, meeting)
      }
  }

  const all = [...meetings.values()].sort(byTrouble)
  const tasks = new Map(all.flatMap((meeting) => meeting.tasks).map((task) => [task.taskId, task]))
  return {
    tasks: [...tasks.values()],
    meetings: all,
    find: (one, other) => meetings.get(keyOf(one, other)),
  }
}

function keyOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`
}

function byTrouble(left: Meeting, right: Meeting): number {
  return right.conflicts.length - left.conflicts.length || right.files.length - left.files.length
}
