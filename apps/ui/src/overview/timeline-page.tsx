export function TimelinePage() {
  return null
}
