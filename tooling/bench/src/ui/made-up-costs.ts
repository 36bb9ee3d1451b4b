import type { TaskView } from '@matrix/protocol/http'

export function makeUpCosts(by: string, tasks: readonly TaskView[]): unknown {
  const sums = {
    turns: 120,
    inputTokens: 400_000,
    outputTokens: 30_000,
    cacheReadTokens: 2_000_000,
    cacheWriteTokens: 90_000,
  }
  const day = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10)
  const models = ['mock-large', 'mock-small']
  if (by === 'task') return tasks.map((task, index) => ({ task: task.id, usd: (index % 7) * 0.3, ...sums }))
  if (by === 'model') return models.map((model, index) => ({ model, usd: 9 / (index + 1), ...sums }))
  const days = Array.from({ length: 30 }, (_, back) => ({
    day: day(back),
    usd: Math.abs(Math.sin(back * 1.7)) * 8,
    ...sums,
  }))
  return by === 'day'
    ? days
    : days.flatMap((row) => models.map((model, index) => ({ ...row, model, usd: row.usd / (index + 1.5) })))
}
