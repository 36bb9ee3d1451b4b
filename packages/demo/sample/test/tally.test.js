import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMoney } from '../src/money.js'
import { total } from '../src/tally.js'

test('a bill is the sum of its lines', () => {
  assert.equal(total([{ price: 320, count: 2 }, { price: 150 }]), 790)
})

test('an empty bill costs nothing', () => {
  assert.equal(total([]), 0)
})

test('money has two digits after the point', () => {
  assert.equal(formatMoney(1205), '12.05')
  assert.equal(formatMoney(-5), '-0.05')
})
