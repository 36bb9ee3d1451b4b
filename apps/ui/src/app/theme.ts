import { create } from 'zustand'

export type Theme = 'system' | 'light' | 'dark'

const key = 'matrix.theme'

type ThemeState = { theme: Theme; setTheme(theme: Theme): void }

export const useTheme = create<ThemeState>((set) => ({
  theme: readTheme(),
  setTheme(theme) {
    localStorage.setItem(key, theme)
    showTheme(theme)
    set({ theme })
  },
}))

/** Called before the first paint, so that nobody sees the other theme flash by. */
export function showTheme(theme: Theme = readTheme()): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
}

function readTheme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}
