export { createDaemon, type Daemon, type DaemonOptions, type Metrics } from './daemon.ts'
export { type RunningDaemon, type StartOptions, startDaemon } from './start-daemon.ts'
