/** Says which tasks look different, once for many changes that come together. */
export function createTaskFrames(
  send: (taskIds: string[]) => void,
  later: (work: () => void) => void,
): { touch(taskId: string): void } {
  const touched = new Set<string>()
  return {
    touch(taskId) {
      if (touched.size === 0)
        later(() => {
          const tasks = [...touched]
          touched.clear()
          send(tasks)
        })
      touched.add(taskId)
    },
  }
}
