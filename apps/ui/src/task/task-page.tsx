export function TaskPage() {
  return null
}
