import { mergeConfig, type ViteUserConfig } from 'vitest/config'
import { packageTests } from '../../vitest.base.ts'

export default mergeConfig(packageTests() as ViteUserConfig, {
  test: {
    include: ['test/**/*.test.ts'],
    // Those in test/ each run a browser, a daemon and agents, for which there are few cores.
    fileParallelism: false,
    hookTimeout: 120_000,
    testTimeout: 60_000,
  },
} satisfies ViteUserConfig)
