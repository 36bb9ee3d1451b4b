import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Project } from './project.ts'
import { openProofRecords } from './proof-record.ts'
import type { Proof } from './prove.ts'

const project: Project = {
  name: 'h11',
  language: 'Python',
  source: { debian: 'python-h11' },
  test: 'pytest',
  format: 'pytest',
  job: { file: 'README', text: 'x', test: 'pytest' },
}
const proof: Proof = {
  ...{
    name: 'h11',
    language: 'Python',
    outside: 2,
    inside: 2,
    unstable: ['b'],
    outsideMs: 10,
    insideMs: 12,
    faults: [],
  },
  differing: [{ test: 'b', outside: 'passed', inside: 'failed', why: undefined }],
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'proof-record-'))
  mkdirSync(join(folder, 'dist/chunks'), { recursive: true })
  writeFileSync(join(folder, 'dist/chunks/a.js'), 'one')
})
afterEach(() => rmSync(folder, { recursive: true }))

const open = () => openProofRecords(join(folder, 'proofs'), [join(folder, 'dist')])

test('a proof is found by the next run, and one with faults is not', () => {
  expect(open().find(project)).toBeUndefined()
  open().keep(project, proof)
  expect(open().find(project)).toEqual(proof)

  open().keep(project, { ...proof, faults: ['b: passed outside, failed inside'] })
  expect(open().find(project)).toBeUndefined()
})

test('another build of Matrix and another entry in the corpus are proven again', () => {
  open().keep(project, proof)
  expect(open().find({ ...project, test: 'pytest -x' })).toBeUndefined()

  writeFileSync(join(folder, 'dist/chunks/a.js'), 'two')
  expect(open().find(project)).toBeUndefined()
})

test('a record that cannot be read is none', () => {
  open().keep(project, proof)
  writeFileSync(join(folder, 'proofs/h11.json'), '{"key":')
  expect(open().find(project)).toBeUndefined()
})
