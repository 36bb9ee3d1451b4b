import { expect, test } from 'vitest'
import { describeRefused, openAskedHosts } from './asked-hosts.ts'

test('each refused host is named once, in the order in which they were asked for, since a moment', async () => {
  const refused = openAskedHosts()
  refused.note(decision('a.example:443'))
  await new Promise((done) => setTimeout(done, 5))
  const moment = performance.now()
  for (const host of ['b.example:443', 'c.example:80', 'b.example:443', undefined]) refused.note(decision(host))

  expect(refused.refusedSince(moment)).toEqual(['b.example:443', 'c.example:80'])
  expect(refused.refusedSince(0)).toEqual(['a.example:443', 'b.example:443', 'c.example:80'])
})

test('a program that asks for a thousand hosts fills neither the memory nor the result', () => {
  const refused = openAskedHosts()
  for (let index = 0; index < 1000; index += 1) refused.note(decision(`h${index}.example:443`))

  expect(refused.refusedSince(0)).toHaveLength(100)
  expect(describeRefused(refused.refusedSince(0), { mayAsk: true })).toMatch(
    /h9\.example:443 and 90 more were refused\./,
  )
})

test('the words say how to ask, or that there is nobody to ask', () => {
  expect(describeRefused(['a.example:443'], { mayAsk: true })).toBe(
    '[network: a.example:443 was refused. Ask for it with request_access.]',
  )
  expect(describeRefused(['a.example:443'], { mayAsk: false })).toBe(
    '[network: a.example:443 was refused. This agent may not use the network.]',
  )
})

function decision(missing: string | undefined) {
  return { asked: '', allowed: false, reason: '', ...(missing && { missing }) }
}

test('what was reached belongs to the call that ran then, and what was left running to the next one', async () => {
  const asked = openAskedHosts()
  const reach = (reached: string) => asked.note({ asked: '', allowed: true, reason: '', reached })
  const later = () => new Promise((done) => setTimeout(done, 3))
  const began = performance.now()
  reach('a.example:443')
  await later()
  expect(asked.takeReached(began)).toEqual(['a.example:443'])
  expect(asked.refusedSince(0)).toEqual([])
  await later()
  reach('left-running.example:443')
  await later()
  expect(asked.takeReached(performance.now())).toEqual(['left-running.example:443'])
  await later()
  expect(asked.takeReached(performance.now())).toEqual([])
})

test('a program that reaches a thousand hosts hides none behind the others', () => {
  const asked = openAskedHosts()
  for (let index = 0; index < 1000; index += 1)
    asked.note({ asked: '', allowed: true, reason: '', reached: `h${index}.example:443` })

  expect(asked.takeReached(0)).toHaveLength(101)
  expect(asked.takeReached(0)).toContain('other hosts')
})
