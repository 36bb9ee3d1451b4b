import { useQuery } from '@tanstack/react-query'
import { client } from './client.ts'

type StatusOptions = { refetchInterval?: number; enabled?: boolean }

/** What runs, since when, and on what. */
export function useStatus(options: StatusOptions = {}) {
  return useQuery({ queryKey: ['status'], queryFn: () => client.getStatus(), ...options })
}
