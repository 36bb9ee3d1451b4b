import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nodeProgram } from '../../../bundle.base.mjs'
import { root } from './root.ts'

test.each(['cli', 'daemon'])('what the bundle of %s leaves out is installed along with it', (app) => {
  const manifest = JSON.parse(readFileSync(`${root}/apps/${app}/package.json`, 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    Record<string, string>
  >

  expect(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })).toEqual(
    expect.arrayContaining([...(nodeProgram.external ?? [])]),
  )
})
