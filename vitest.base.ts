import { availableParallelism } from 'node:os'
import { defineConfig, type ViteUserConfigExport } from 'vitest/config'

/** What every package's test run shares: the counts go to a file, so that one line can sum up the whole repository. */
export function packageTests(): ViteUserConfigExport {
  return defineConfig({
    test: {
      include: ['src/**/*.test.{ts,tsx}'],
      reporters: ['default', ['json', { outputFile: 'test-results.json' }]],
      // Several packages test at once, and many tests start real processes: slow is not yet broken.
      testTimeout: 60_000,
      // Tests wait for processes more than they compute, so two cores are worth two workers.
      maxWorkers: Math.max(2, availableParallelism() - 1),
      hookTimeout: 60_000,
      expect: { poll: { timeout: 20_000 } },
    },
  })
}
