import { MutationCache, QueryClient } from '@tanstack/react-query'
import { describeFailure } from '../parts/failure.ts'
import { sayFailure } from './toasts.tsx'

/** What is asked for rather than streamed. A failed change is always said; a view that says it itself sets `meta: { quiet: true }`. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 5000, retry: mayHelp, refetchOnWindowFocus: false },
  },
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      if (!mutation.meta?.quiet) sayFailure(error)
    },
  }),
})

/** Only what was not the question's fault is asked again. */
function mayHelp(failures: number, error: unknown): boolean {
  const { code } = describeFailure(error)
  return failures < 2 && (code === 'DAEMON_UNREACHABLE' || code === 'NOT_READY' || code === 'RATE_LIMITED')
}
