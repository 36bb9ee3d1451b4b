import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseDocument } from '../document/document.ts'
import type { AgentFormat } from './agent-format.ts'
import { checkPolicy } from './agent-policy.ts'

test.each(['rust-developer', 'q-developer', 'kiro-cli', 'typed-settings'])(
  'the policy of %s is in its final form: to check it again changes nothing and finds nothing',
  (file) => {
    const bytes = readFileSync(new URL(`../../fixtures/agent-format/good/${file}.json`, import.meta.url))
    const agent = parseDocument(bytes).value as AgentFormat
    const { policy } = checkPolicy(agent)

    expect(checkPolicy({ ...policy, mcpServers: agent.mcpServers ?? {} })).toEqual({ policy, problems: [] })
  },
)
