import { useEffect } from 'react'
import { useAttention, useTask } from '../live/live.ts'
import { useCurrentPlace } from './place.ts'

/** The title of the browser's tab says how many things wait for a person, and what is looked at. */
export function useTitle(): void {
  const { projectId, taskId } = useCurrentPlace()
  const waiting = useAttention().length
  const title = useTask(projectId, taskId)?.title

  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title ? `${title} · ` : ''}Matrix`
  }, [waiting, title])
}
