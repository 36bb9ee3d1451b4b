import { formatJsonSchema, type SchemaFormat } from '@matrix/manifest'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { writeOutput } from '../output-file.ts'
import { printJson } from '../terminal.ts'

export type SchemaOptions = { out?: string; force?: boolean }

export async function schema(format: SchemaFormat, { out, force = false }: SchemaOptions): Promise<ExitCode> {
  const document = formatJsonSchema(format)
  if (out) await writeOutput(out, `${JSON.stringify(document, null, 2)}\n`, { force })
  else printJson(document)
  return exitCode.ok
}
