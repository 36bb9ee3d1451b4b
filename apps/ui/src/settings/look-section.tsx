import { askForNotifications } from '../app/notifications.ts'
import { usePreferences } from '../app/preferences.ts'
import { type Theme, useTheme } from '../app/theme.ts'
import { Button } from '../parts/button.tsx'

const themes: { id: Theme; label: string }[] = [
  { id: 'system', label: 'As the system' },
  { id: 'light', label: 'Light' },
  { id: 'dark', label: 'Dark' },
]

/** What only this browser remembers. */
export function LookSection() {
  const { theme, setTheme } = useTheme()
  const isNotified = usePreferences(({ wantsNotifications }) => wantsNotifications)

  return (
    <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4 max-sm:p-2">
      <fieldset className="rounded-lg border bg-surface p-3">
        <legend className="px-1 font-medium">Colours</legend>
        <div className="flex flex-wrap gap-4">
          {themes.map(({ id, label }) => (
            <label key={id} className="flex items-center gap-2">
              <input type="radio" name="theme" checked={theme === id} onChange={() => setTheme(id)} />
              {label}
            </label>
          ))}
        </div>
      </fieldset>
      <section className="flex flex-wrap items-center gap-3 rounded-lg border bg-surface p-3">
        <div className="min-w-0 flex-1">
          <h2 className="font-medium">Notifications</h2>
          <p className="text-ink-2">Only when you are needed or work is finished, and only while you look elsewhere.</p>
        </div>
        {isNotified ? (
          <Button onClick={() => usePreferences.setState({ wantsNotifications: false })}>Turn off</Button>
        ) : (
          <Button look="primary" onClick={() => void askForNotifications()}>
            Turn on
          </Button>
        )}
      </section>
    </div>
  )
}
