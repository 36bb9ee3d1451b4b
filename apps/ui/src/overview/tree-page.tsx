export function TreePage() {
  return null
}
