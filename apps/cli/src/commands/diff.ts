import { type ExitCode, exitCode } from '../exit-code.ts'

export async function diff(_a: string, _b: string, _o: object): Promise<ExitCode> {
  return exitCode.usage
}
