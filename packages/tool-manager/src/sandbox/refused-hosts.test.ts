import { expect, test } from 'vitest'
import { describeRefused, openRefusedHosts } from './refused-hosts.ts'

test('each refused host is named once, in the order in which they were asked for, since a moment', async () => {
  const refused = openRefusedHosts()
  refused.note(decision('a.example:443'))
  await new Promise((done) => setTimeout(done, 5))
  const moment = performance.now()
  for (const host of ['b.example:443', 'c.example:80', 'b.example:443', undefined]) refused.note(decision(host))

  expect(refused.since(moment)).toEqual(['b.example:443', 'c.example:80'])
  expect(refused.since(0)).toEqual(['a.example:443', 'b.example:443', 'c.example:80'])
})

test('a program that asks for a thousand hosts fills neither the memory nor the result', () => {
  const refused = openRefusedHosts()
  for (let index = 0; index < 1000; index += 1) refused.note(decision(`h${index}.example:443`))

  expect(refused.since(0)).toHaveLength(100)
  expect(describeRefused(refused.since(0), { mayAsk: true })).toMatch(/h9\.example:443 and 90 more were refused\./)
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
