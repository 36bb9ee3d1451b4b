import { expect, test } from 'vitest'
import { detectDocument } from '../detect.ts'
import { verifyDocument } from '../verify.ts'
import { importServers } from './import.ts'
import { realFiles } from './real-file.testing.ts'

test('at least sixty files in the forms that people publish are read, or refused for the reason a person would give', async () => {
  const found = await Promise.all(realFiles.map(([fileName, content]) => verdictOf(fileName, textOf(content))))

  expect(realFiles.length).toBeGreaterThanOrEqual(60)
  expect(found.map((verdict, index) => [realFiles[index]?.[1], verdict])).toEqual(
    realFiles.map(([, content, expected]) => [content, expected]),
  )
})

test('what is read can be imported, and no secret of it is in the draft', async () => {
  for (const [fileName, content] of realFiles) {
    const { value, format } = await detectDocument(Buffer.from(textOf(content)), { fileName })
    if (format === undefined) continue
    const { manifest } = importServers(value, { fileName })
    expect(JSON.stringify(manifest), textOf(content)).not.toContain('hunter2correcthorse')
  }
})

function textOf(content: object | string): string {
  return typeof content === 'string' ? content : JSON.stringify(content, null, 2)
}

async function verdictOf(fileName: string, text: string): Promise<string> {
  const { format, value, summary, findings } = await verifyDocument(Buffer.from(text), { fileName })
  const what = format ?? (value === undefined ? summary : 'unknown')
  return `${what}: ${findings.map(({ rule, severity }) => `${rule} ${severity}`).join(', ') || 'nothing'}`
}
