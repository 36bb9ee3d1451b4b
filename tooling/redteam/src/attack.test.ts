import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Attack, isStopped, runFamily, type Sighting, tagOf } from './attack.ts'
import type { Ground } from './ground.ts'
import { openSinks, type Sinks } from './sinks.ts'

const attack = (name: string): Attack => ({ name, layer: 'kernel', evidence: /denied/ })

test('an attack that leaves a file outside, dials the user or reads a secret is never called stopped', async () => {
  const outcomes = await attackWith(['write a file', 'dial', 'read'], async (sinks, seen) => {
    writeFileSync(join(sinks.outside, tagOf('write a file')), '')
    await dial(sinks.port, `GET /?tag=${tagOf('dial')}`)
    seen('read', 'denied, but canary-1 all the same')
  })

  expect(outcomes.map(({ reached }) => reached)).toEqual([
    ['a file was written outside'],
    ['the user’s loopback was reached'],
    ['the attacker read a secret'],
  ])
  expect(outcomes.some(isStopped)).toBe(false)
})

test('an attack that reached nothing is stopped only if its words are seen', async () => {
  const outcomes = await attackWith(['made', 'never made'], async (_, seen) => seen('made', 'Permission denied'))

  expect(outcomes.map(isStopped)).toEqual([true, false])
})

test('what the model was sent can show a leak, and never that an attack was stopped', async () => {
  const outcomes = await attackWith(['leak', 'own words'], async (_, seen) => {
    seen('leak', 'denied', 'canary-1')
    seen('own words', '', 'say: denied')
  })

  expect(outcomes.map(({ reached }) => reached)).toEqual([['the model was told a secret'], []])
  expect(outcomes.some(isStopped)).toBe(false)
})

test('what reaches a sink under a name that is no attack’s ends the run', async () => {
  const run = attackWith(['made'], (sinks) => writeFileSync(join(sinks.outside, 'another'), ''))

  await expect(run).rejects.toThrow('by another, which is no attack of this family')
})

type Act = (sinks: Sinks, seen: (name: string, text: string, told?: string) => void) => unknown

async function attackWith(names: readonly string[], act: Act) {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-sinks-'))
  const sinks = await openSinks(folder)
  const sightings = new Map<string, Sighting>()
  try {
    const run = async () => {
      await act(sinks, (name, text, told = '') => sightings.set(name, { text, told }))
      return sightings
    }
    const ground: Pick<Ground, 'sinks' | 'secrets'> = { sinks, secrets: ['canary-1'] }
    return await runFamily({ name: 'a family', attacks: names.map(attack), run }, ground)
  } finally {
    sinks.close()
    rmSync(folder, { recursive: true })
  }
}

function dial(port: number, text: string): Promise<void> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket
      .on('error', fail)
      .on('close', () => done())
      .resume()
  })
}
