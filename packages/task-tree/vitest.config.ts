import { mergeConfig, type ViteUserConfig } from 'vitest/config'
import { packageTests } from '../../vitest.base.ts'

// Most of the time is spent waiting for git and the disk, so one core is not left to itself.
export default mergeConfig(packageTests() as ViteUserConfig, { test: { maxWorkers: '100%' } })
