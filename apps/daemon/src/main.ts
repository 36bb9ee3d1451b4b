import { closeInherited } from '@matrix/tool-manager/descriptors'
import { runProgram } from './program.ts'

closeInherited()
// Where nothing can be said, as on a full disk, the exit code still says why.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

process.exitCode = await runProgram(process.argv.slice(2))
