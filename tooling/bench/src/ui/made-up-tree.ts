import type { Attention, Overlap, ProjectView, TaskView } from '@matrix/protocol/http'

export const now = () => new Date().toISOString()
export const id = (number: number) => `01M0NA${String(number).padStart(20, '0')}`
export const projectId = id(0)

export function makeUpProject(working: number): ProjectView {
  return {
    id: projectId,
    name: 'made-up',
    path: '/home/you/made-up',
    rootTaskId: id(1),
    baseBranch: 'main',
    problem: null,
    agents: { live: working, working },
    costUsd: 12.34,
    isDemo: true,
    registeredAt: '2026-11-16T06:00:00.000Z',
  }
}

export function makeUpTask(
  index: number,
  { count, working, events }: { count: number; working: number; events: number },
): TaskView {
  const isRoot = index === 0
  const parent = isRoot ? null : id(1 + Math.floor((index - 1) / 8))
  const children = Array.from({ length: 8 }, (_, child) => index * 8 + 1 + child).filter((child) => child < count)
  const isWorking = index > 0 && index <= working
  return {
    id: id(index + 1),
    projectId,
    title: isRoot
      ? 'Everything'
      : `Task ${index}: ${['parse the input', 'write the tests', 'draw the page'][index % 3]}`,
    description: 'Do what the title says.\n\n- carefully\n- with **tests**',
    status:
      isWorking || isRoot
        ? 'in_progress'
        : ((['passed', 'pending', 'failed', 'closed'] as const)[index % 4] ?? 'pending'),
    branch: `mxd/${id(index + 1)}/task-${index}`,
    ...(isRoot ? { baseBranch: 'main' } : {}),
    parentId: parent,
    children: children.map((child) => id(child + 1)),
    worktreePath: null,
    costUsd: index * 0.01,
    budgetUsd: 5,
    editedBy: 'user',
    persistent: false,
    createdAt: '2026-11-16T06:00:00.000Z',
    updatedAt: now(),
    depth: Math.ceil(Math.log(index * 7 + 8) / Math.log(8)) - 1,
    activity: isWorking ? 'working' : 'off',
    doing: isWorking ? 'running the tests' : null,
    problem: null,
    treeCostUsd: index * 0.02,
    treeSpent: { usd: index * 0.02, tokens: index * 1000, minutes: index, unpricedTurns: 0 },
    contextTokens: 84_000,
    contextWindow: 200_000,
    model: 'mock-large',
    pendingMessages: 0,
    lastSeq: index === 1 ? events : Math.min(events, 2000),
    lastAt: now(),
    needs: index === 1 ? ['review'] : [],
  }
}

export function makeUpAttention(): Attention[] {
  const at = { projectId, taskId: id(2), taskTitle: 'Task 1: write the tests', since: now() }
  return [
    { id: 'question-1', kind: 'question', ...at, text: 'Which database?', options: ['SQLite', 'PostgreSQL'] },
    {
      id: 'approval-1',
      kind: 'approval',
      ...at,
      text: 'Wants to run a command',
      approval: {
        uri: 'matrix://tool/mcp/mxd/bash@1.0.0',
        sideEffect: 'shell',
        input: { command: 'rm -rf build' },
        inputDigest: 'sha256:0',
        reason: 'shell needs a person',
        expiresAt: new Date(Date.now() + 600_000).toISOString(),
      },
    },
  ]
}

export function makeUpOverlaps(): Overlap[] {
  const task = (number: number) => ({
    taskId: id(number + 1),
    title: `Task ${number}: write the tests`,
    branch: `mxd/${number}`,
  })
  const pair = (one: number, other: number): [string, string] => [id(one + 1), id(other + 1)]
  return [
    { path: 'src/app/router.ts', tasks: [task(1), task(2), task(3)], conflicts: [pair(1, 2)] },
    { path: 'src/app/main.ts', tasks: [task(1), task(2)], conflicts: [] },
    { path: 'package.json', tasks: [task(1), task(4), task(5)], conflicts: [pair(4, 5), pair(1, 4)] },
    { path: 'docs/guide.md', tasks: [task(3), task(5)], conflicts: [] },
  ]
}
