/** Says which tasks look different, once for many changes that come together. */
export function createTaskFrames(
  send: (taskId: string) => void,
  later: (work: () => void) => void,
): { touch(taskId: string): void } {
  const touched = new Set<string>()
  return {
    touch(taskId) {
      if (touched.size === 0)
        later(() => {
          const tasks = [...touched]
          touched.clear()
          for (const id of tasks) send(id)
        })
      touched.add(taskId)
    },
  }
}
