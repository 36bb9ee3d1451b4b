import { loopTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { openOffice, type Script } from './simulation/office.testing.ts'

const starts: Script = ({ calls }) =>
  calls.length === 0
    ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'npm test', background: true } }] }
    : { calls: [{ name: loopTools.yield }] }

test('a command in the background reports when it ends, and wakes its agent', async () => {
  const office = await openOffice({ shop: starts })
  await office.say('Go')
  await office.settle()
  const calls = office.machine.modelCalls()
  office.machine.background.get(office.rootId)?.()
  await office.settle()

  expect(office.machine.modelCalls()).toBe(calls + 1)
  expect(office.machine.requests.at(-1)?.text).toContain('all green')
})

test('a command that ended with its process is reported once after the restart', async () => {
  const office = await openOffice({ shop: starts })
  await office.say('Go')
  await office.settle()
  await office.restart()
  await office.settle()
  await office.restart()
  await office.settle()

  const reports = (await office.events()).filter(
    (event) => event.type === 'message' && event.message.source === 'background_complete',
  )
  expect(reports).toHaveLength(1)
  expect(office.machine.requests.at(-1)?.text).toContain('started anew')
})
