/** What one line of a bill costs, in cents. */
export function lineTotal({ price, count = 1 }) {
  return price * count
}

/** What all lines cost together. */
export function total(lines) {
  return lines.reduce((sum, line) => sum + lineTotal(line), 0)
}
