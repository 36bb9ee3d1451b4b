import { expect, test } from 'vitest'
import { isForeignTool, nativeToolAliases, nativeTools, resolveNativeTools } from './native-tool-alias.ts'

test('every spelling of a tool leads to the tools of Matrix that do its work', () => {
  for (const name of ['fs-read', 'fs_read', 'read'])
    expect(resolveNativeTools(name)).toEqual(['read_file', 'list_files', 'search'])
  for (const name of ['fs-write', 'fs_write', 'write'])
    expect(resolveNativeTools(name)).toEqual(['write_file', 'edit_file'])
  for (const name of ['execute-bash', 'execute_bash', 'shell'])
    expect(resolveNativeTools(name)).toEqual(['bash', 'background'])
  expect(resolveNativeTools('read-file')).toEqual(['read_file'])
  expect(resolveNativeTools('bash')).toEqual(['bash'])
})

test('a pattern is matched against all spellings, and answered in the names of Matrix', () => {
  expect(resolveNativeTools('fs_*')).toEqual(['read_file', 'list_files', 'search', 'write_file', 'edit_file'])
  expect(resolveNativeTools('*_file')).toEqual(['read_file', 'write_file', 'edit_file'])
  expect(resolveNativeTools('*')).toHaveLength(nativeTools.length)
})

test('nothing leads to a tool that does not exist', () => {
  for (const tool of Object.values(nativeToolAliases).flat()) expect(nativeTools).toContain(tool)
  for (const name of ['use_aws', 'Bash', 'constructor', '']) expect(resolveNativeTools(name)).toEqual([])
  expect(isForeignTool('use-aws')).toBe(true)
  expect(isForeignTool('bash')).toBe(false)
})
