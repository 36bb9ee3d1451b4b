/** Enough of an id to tell tasks apart that were made in the same millisecond, nearly always; what is left is asked back. */
export function shortId(id: string): string {
  return id.slice(0, 12)
}
