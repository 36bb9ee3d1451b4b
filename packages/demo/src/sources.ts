// What the agents of the story write, as they write it.

export const lineTotal = {
  plain: `/** What one line of a bill costs, in cents. */
export function lineTotal({ price, count = 1 }) {
  return price * count
}
`,
  discount: `/** What one line of a bill costs, in cents. A discount is a share: 0.1 takes ten percent off. */
export function lineTotal({ price, count = 1, discount = 0 }) {
  return Math.round(price * count * (1 - discount))
}
`,
  tax: `/** What one line of a bill costs, in cents. The tax rate is a share: 0.19 adds nineteen percent. */
export function lineTotal({ price, count = 1, tax = 0 }) {
  return Math.round(price * count * (1 + tax))
}
`,
  both: `/** What one line of a bill costs, in cents: a discount is taken off first, then tax is added. Both are shares. */
export function lineTotal({ price, count = 1, discount = 0, tax = 0 }) {
  return Math.round(price * count * (1 - discount) * (1 + tax))
}
`,
}

export const rest = `/** What all lines cost together. */
export function total(lines) {
  return lines.reduce((sum, line) => sum + lineTotal(line), 0)
}
`

export const receiptSource = `import { formatMoney } from './money.js'
import { lineTotal, total } from './tally.js'

const CURRENCY = '{{currency}}'

/** The bill as text: one row per line, and the total below. */
export function receipt(lines) {
  const rows = lines.map((line) => row(\`\${line.count ?? 1} x \${line.name}\`, lineTotal(line)))
  return [...rows, '-'.repeat(32), row('Total', total(lines))].join('\\n')
}

function row(name, cents) {
  return name.padEnd(20) + \`\${formatMoney(cents)} \${CURRENCY}\`.padStart(12)
}
`

export const tests = {
  discount: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from '../src/tally.js'

test('a discount comes off its own line only', () => {
  assert.equal(total([{ price: 1000, discount: 0.1 }, { price: 500 }]), 1400)
})

test('a discount is rounded to whole cents', () => {
  assert.equal(total([{ price: 333, discount: 0.5 }]), 167)
})
`,
  tax: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from '../src/tally.js'

test('tax is added to its own line only', () => {
  assert.equal(total([{ price: 1000, tax: 0.19 }, { price: 500 }]), 1690)
})
`,
  receipt: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receipt } from '../src/receipt.js'

const bill = [{ name: 'Coffee', price: 320, count: 2 }, { name: 'Cake', price: 450 }]

test('every line has its row, and the total stands below', () => {
  const rows = receipt(bill).split('\\n')
  assert.equal(rows.length, 4)
  assert.match(rows[0], /^2 x Coffee +6\\.40 /)
  assert.match(rows[3], /^Total +10\\.90 /)
})

test('all rows are equally wide', () => {
  assert.equal(new Set(receipt(bill).split('\\n').map((row) => row.length)).size, 1)
})
`,
}
