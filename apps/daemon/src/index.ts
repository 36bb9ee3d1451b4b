export { createDaemon, type Daemon, type DaemonOptions } from './daemon.ts'
export type { Metrics } from './metrics.ts'
export { type RunningDaemon, type StartOptions, startDaemon } from './start-daemon.ts'
