import { type ExitCode, exitCode } from '../exit-code.ts'

export async function importFile(_a: string, _b: object): Promise<ExitCode> {
  return exitCode.usage
}
