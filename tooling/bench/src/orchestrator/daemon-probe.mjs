// Loaded into the daemon before its own code, to look at it from inside. Answers each message with what was used since the last.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMs = 5
const delay = monitorEventLoopDelay({ resolution: resolutionMs })
let cpu = process.cpuUsage()

process.on('message', ({ watchLoop }) => {
  const { user, system } = process.cpuUsage(cpu)
  // What is measured is the time between two ticks of the timer.
  const loopP99Ms = Math.max(0, delay.percentile(99) / 1e6 - resolutionMs)
  process.send({ cpuMs: (user + system) / 1000, rssBytes: process.memoryUsage.rss(), loopP99Ms })
  if (watchLoop) delay.enable()
  else delay.disable()
  delay.reset()
  cpu = process.cpuUsage()
})
process.channel.unref()
