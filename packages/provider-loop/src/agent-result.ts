export type ExitReason = 'done_passed' | 'done_failed' | 'interrupted'

export type AgentResult = { exitReason: ExitReason; output: string; costUsd: number; turns: number }
