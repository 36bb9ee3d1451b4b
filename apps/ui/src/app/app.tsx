import { RouterProvider } from '@tanstack/react-router'
import { useEffect } from 'react'
import { runFeed } from '../live/feed.ts'
import { queryClient } from './queries.ts'
import { router } from './router.tsx'
import { ToastStack } from './toasts.tsx'

export function App() {
  useEffect(() => {
    const ending = new AbortController()
    runFeed({
      signal: ending.signal,
      onConfig: () => void queryClient.invalidateQueries({ queryKey: ['config'] }),
    }).catch(console.error)
    return () => ending.abort()
  }, [])
  return (
    <>
      <RouterProvider router={router} />
      <ToastStack />
    </>
  )
}
