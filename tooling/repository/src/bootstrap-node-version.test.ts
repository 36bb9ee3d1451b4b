import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkNode } from '../../bootstrap/node-version.mjs'
import { root } from './root.ts'

test.each(['20.19.0', '20.20.2', '22.12.0', '23.1.0', '24.0.0', '26.3.1'])('Node %s is accepted', (version) => {
  expect(checkNode(version)).toBeUndefined()
})

test.each(['12.22.12', '18.20.8', '20.18.3', '21.7.3', '22.11.0'])('Node %s is refused in one sentence', (version) => {
  expect(checkNode(version)).toMatch(
    /^Matrix needs Node 20\.19 .* and this is Node \S+: install one from \S+ and .*\.$/,
  )
  expect(checkNode(version)).toContain(`Node ${version}:`)
})

test('the sentence and the engines field ask for the same Node', () => {
  const { engines } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))

  expect(engines.node).toBe('^20.19.0 || >=22.12.0')
})

test('what an old Node has to read holds no syntax it does not know', () => {
  const younger = /\?\.|\?\?|\bawait\b|node:|#\w+\s*=|\bstatic\s*\{/
  for (const file of ['main.mjs', 'node-version.mjs'])
    expect(readFileSync(`${root}/tooling/bootstrap/${file}`, 'utf8')).not.toMatch(younger)
})
