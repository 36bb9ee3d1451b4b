export function ConflictsPage() {
  return null
}
