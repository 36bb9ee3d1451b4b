import { Link } from '@tanstack/react-router'
import { Empty } from '../parts/states.tsx'

export function MissingPage() {
  return (
    <Empty
      title="There is no such page"
      action={
        <Link to="/" className="text-accent underline">
          Go to the inbox
        </Link>
      }
    >
      The address may be old, or the task was removed.
    </Empty>
  )
}
