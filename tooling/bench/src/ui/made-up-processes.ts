import type { BackgroundProcess } from '@matrix/protocol/http'
import { id } from './made-up-tree.ts'

export function makeUpProcess(processId: string): unknown {
  const commands = ['pnpm dev --port 5173', 'node scripts/watch.mjs', 'tail -f log/test.log']
  const all = commands.map(
    (command, index): BackgroundProcess => ({
      id: `bg_${index + 1}`,
      taskId: id(2 + index),
      command,
      startedAt: new Date(Date.now() - index * 400_000 - 20_000).toISOString(),
      exitCode: index === 2 ? 137 : null,
      isRunning: index !== 2,
    }),
  )
  if (processId === '') return all
  const found = all.find((one) => one.id === processId)
  return found && { ...found, output: Array.from({ length: 400 }, (_, line) => `line ${line}: ready`).join('\n') }
}
