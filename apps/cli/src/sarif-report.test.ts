import { join } from 'node:path'
import type { Log, Result } from 'sarif'
import { expect, test } from 'vitest'
import { folderWith, manifestText, matrix } from './matrix-process.testing.ts'

const unpinned = { args: ['-y', '@modelcontextprotocol/server-filesystem', '/workspace'] }

test('each finding is a result with its rule, level, repository-relative file and region', async () => {
  const cwd = folderWith({ 'a b.json': manifestText(unpinned) })
  const log = await sarif([join(cwd, 'a b.json')], cwd)
  const [result] = results(log)

  expect(log.version).toBe('2.1.0')
  expect(result).toMatchObject({
    ruleId: 'MX007',
    level: 'error',
    locations: [
      { physicalLocation: { artifactLocation: { uri: 'a%20b.json' }, region: { startLine: 14, startColumn: 9 } } },
    ],
  })
  expect(log.runs[0]?.tool.driver.rules?.[result?.ruleIndex ?? -1]?.id).toBe('MX007')
})

test('a fingerprint stays the same when lines and servers change places, and differs between findings', async () => {
  const server = (alias: string) => ({ ...JSON.parse(manifestText(unpinned)).servers[0], alias })
  const order = (...aliases: string[]) => manifestText({}, { servers: aliases.map(server) })
  const cwd = folderWith({ 'a.json': order('one', 'two'), 'b.json': `\n\n${order('two', 'one')}` })
  const prints = async (file: string) =>
    results(await sarif([file], cwd)).map(({ partialFingerprints }) => partialFingerprints?.['matrixFinding/v1'])

  expect((await prints('b.json')).reverse()).toEqual(await prints('a.json'))
  expect(new Set(await prints('a.json')).size).toBe(2)
})

test('each rule links to its page where an address for the pages is given, and explains itself without one', async () => {
  const cwd = folderWith({ 'a.json': manifestText(unpinned) })
  const ruleOf = async (...flags: string[]) => {
    const { stdout } = await matrix(['verify', '--offline', '--sarif', ...flags, 'a.json'], { cwd })
    return (JSON.parse(stdout) as Log).runs[0]?.tool.driver.rules?.find(({ id }) => id === 'MX007')
  }

  expect((await ruleOf('--help-uri', 'https://git.example/rules/'))?.helpUri).toBe('https://git.example/rules/MX007.md')
  expect(await ruleOf()).not.toHaveProperty('helpUri')
  expect((await ruleOf())?.help?.markdown).toContain('Right:')
  expect((await matrix(['verify', '--sarif', '--help-uri', 'rules', 'a.json'], { cwd })).code).toBe(2)
})

test('a file outside the working directory is named by an absolute URI', async () => {
  const folder = folderWith({ 'a.json': manifestText(unpinned) })
  const [result] = results(await sarif([join(folder, 'a.json')], folderWith()))

  expect(result?.locations?.[0]?.physicalLocation?.artifactLocation?.uri).toMatch(/^file:\/\/\/.*a\.json$/)
})

async function sarif(files: string[], cwd: string): Promise<Log> {
  return JSON.parse((await matrix(['verify', '--offline', '--sarif', ...files], { cwd })).stdout)
}

function results(log: Log): Result[] {
  return log.runs[0]?.results ?? []
}
