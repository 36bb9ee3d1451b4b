import { RouterProvider } from '@tanstack/react-router'
import { useEffect } from 'react'
import { runFeed } from '../live/feed.ts'
import { describeFailure } from '../parts/failure.ts'
import { signIn, useSignIn } from '../sign-in/sign-in.ts'
import { SignInPage } from '../sign-in/sign-in-page.tsx'
import { queryClient } from './queries.ts'
import { router } from './router.tsx'
import { Shell } from './shell.tsx'
import { sayFailure, ToastStack } from './toasts.tsx'

/** Who is not signed in sees how to; everybody else sees the views, kept true by the feed. */
export function App() {
  const phase = useSignIn((state) => state.phase)
  const isSignedIn = phase === 'signed-in'
  useEffect(() => {
    if (!isSignedIn) return
    const ending = new AbortController()
    void feedUntil(ending.signal)
    return () => ending.abort()
  }, [isSignedIn])

  if (!isSignedIn) return <SignInPage />
  return (
    <>
      <RouterProvider router={router} InnerWrap={Shell} />
      <ToastStack />
    </>
  )
}

async function feedUntil(signal: AbortSignal): Promise<void> {
  try {
    await runFeed({ signal, onConfig: () => void invalidateConfig() })
  } catch (error) {
    const { code } = describeFailure(error)
    if (code === 'AUTH_REQUIRED' || code === 'AUTH_FAILED') await signIn()
    else sayFailure(error)
  }
}

/** What sessions would be given follows from the settings. */
function invalidateConfig(): Promise<unknown> {
  return Promise.all(['config', 'configuration'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
}
