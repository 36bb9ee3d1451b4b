import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lockDirectory } from '@matrix/event-store'
import type { Orchestrator } from '@matrix/orchestrator'
import { MatrixError } from '@matrix/protocol'
import { type DaemonFile, daemonFileName } from '@matrix/protocol/http'
import { checkGit } from '@matrix/task-tree'
import { createDaemon, type Daemon, type DaemonOptions } from './daemon.ts'
import { readDaemonSettings } from './daemon-settings.ts'
import { type Log, type LogOptions, openLog } from './log.ts'
import { openMetrics } from './metrics.ts'
import { ensureOwnFolder, replaceOwnFile } from './owner-only.ts'

export type StartOptions = Omit<DaemonOptions, 'orchestrator' | 'log'> & {
  openOrchestrator(dataDirectory: string, log: Log): Promise<Orchestrator>
  onLogLine?: LogOptions['onLine']
}

export type RunningDaemon = {
  file: DaemonFile
  openEnrolment: Daemon['openEnrolment']
  /** Brings the agents back to life and takes work from then on. */
  resume(): Promise<void>
  stop(): Promise<void>
}

/**
 * Opens everything in order and listens. Nothing that belongs to a daemon that is already running on the directory is touched
 * before the lock is held.
 */
export async function startDaemon(options: StartOptions): Promise<RunningDaemon> {
  const { dataDirectory, version } = options
  await checkGit()
  await ensureOwnFolder(dataDirectory, { mode: 0o022 })
  const closing: (() => unknown)[] = []
  /** Whatever cannot be closed, the rest is. */
  const stop = async () => {
    const failures: unknown[] = []
    for (const close of closing.splice(0).reverse()) await attempt(close, failures)
    if (failures.length > 0) throw failures[0]
  }

  try {
    const lock = await lockDirectory(dataDirectory, { note: 'daemon' }).catch((error) =>
      tellWhere(error, dataDirectory),
    )
    closing.push(() => lock.release())
    const log = openLog({
      file: join(dataDirectory, 'daemon.log'),
      ...(options.onLogLine ? { onLine: options.onLogLine } : {}),
    })
    closing.push(log.close)
    const tell = (error: Error) => log.logger.fatal({ err: error }, 'The daemon ends because of a fault.')
    process.on('uncaughtExceptionMonitor', tell)
    closing.push(() => process.off('uncaughtExceptionMonitor', tell))
    const orchestrator = await options.openOrchestrator(dataDirectory, log)
    closing.push(() => orchestrator.close())

    const { port = 7433, names, sessionLimits, hasMetrics } = await readDaemonSettings(orchestrator)
    const daemon = await createDaemon({
      port,
      sessionLimits,
      ...(hasMetrics && { metrics: openMetrics(orchestrator) }),
      ...options,
      names: [...(options.names ?? []), ...names],
      orchestrator,
      log: log.logger,
    })
    closing.push(() => daemon.close())
    const file = await daemon.listen()
    const path = join(dataDirectory, daemonFileName)
    await replaceOwnFile(path, `${JSON.stringify(file, null, 2)}\n`)
    closing.push(() => rm(path, { force: true }))
    log.logger.info({ version, pid: file.pid, url: file.url }, 'The daemon listens.')

    return {
      file,
      openEnrolment: daemon.openEnrolment,
      async resume() {
        const { problems, ...resumed } = await orchestrator.resume().catch(async (error) => {
          await stop().catch(() => {})
          throw error
        })
        for (const problem of problems) log.logger.warn(problem)
        daemon.markReady()
        log.logger.info(resumed, 'The daemon is ready.')
      },
      stop,
    }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

/** Whoever is refused because another daemon runs wants to know where that one is. */
async function tellWhere(error: unknown, dataDirectory: string): Promise<never> {
  const text = await readFile(join(dataDirectory, daemonFileName), 'utf8').catch(() => '')
  const url = /"url": "([^"]+)"/.exec(text)?.[1]
  if (!url || !(error instanceof MatrixError) || error.code !== 'STORAGE_LOCKED') throw error
  throw new MatrixError('STORAGE_LOCKED', error.message, {
    hint: `Use the one that runs, at ${url}, or end it with matrix daemon stop.`,
    cause: error,
  })
}

async function attempt(close: () => unknown, failures: unknown[]): Promise<void> {
  try {
    await close()
  } catch (error) {
    failures.push(error)
  }
}
