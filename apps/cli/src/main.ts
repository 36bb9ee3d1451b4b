import { closeInherited } from '@matrix/tool-manager/descriptors'
import packageJson from '../package.json' with { type: 'json' }

closeInherited()
const args = process.argv.slice(2)
// Loading the commands takes longer than saying which version they are.
if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) process.stdout.write(`${packageJson.version}\n`)
else {
  // Node ends a process whose promise waits for an unreferenced timer; a command ends when it has its exit code.
  const hold = setInterval(() => undefined, 2 ** 31 - 1)
  process.exitCode = await (await import('./program.ts')).runCommand(args)
  clearInterval(hold)
}
