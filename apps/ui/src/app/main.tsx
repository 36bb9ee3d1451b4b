import './theme.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { signIn } from '../sign-in/sign-in.ts'
import { App } from './app.tsx'
import { queryClient } from './queries.ts'
import { router } from './router.tsx'
import { showTheme } from './theme.ts'

showTheme()
// Both take their time, and neither has to wait for the first picture.
void signIn()
void router.load()
const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  )
