/** Cents as people write them: 1234 is "12.34". */
export function formatMoney(cents) {
  const sign = cents < 0 ? '-' : ''
  const whole = Math.trunc(Math.abs(cents) / 100)
  const rest = String(Math.abs(cents) % 100).padStart(2, '0')
  return `${sign}${whole}.${rest}`
}
