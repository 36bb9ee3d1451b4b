import { Outlet } from '@tanstack/react-router'

export function Shell() {
  return (
    <main className="h-full overflow-auto">
      <Outlet />
    </main>
  )
}
