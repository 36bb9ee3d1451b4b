import { manifestJsonSchema } from '@matrix/manifest'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { writeOutput } from '../output-file.ts'
import { printJson } from '../terminal.ts'

export async function schema({ out, force = false }: { out?: string; force?: boolean }): Promise<ExitCode> {
  const document = manifestJsonSchema()
  if (out) await writeOutput(out, `${JSON.stringify(document, null, 2)}\n`, { force })
  else printJson(document)
  return exitCode.ok
}
