import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { DurableEvent } from '@matrix/protocol'
import {
  answered,
  type ContractCase,
  called,
  compacted,
  consumed,
  message,
  rewound,
  said,
  stamp,
} from './contract-case.ts'
import { REWOUND_CALL_TEXT } from './fork.ts'

/** What a conversation resumes from. */
export const activeContract: ContractCase[] = [
  {
    name: 'the active part starts at the last compact marker',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.append('s', fence, [said('a'), compacted('one'), said('b')])
      await store.append('s', fence, [compacted('two'), said('c')])
      // The words of a marker inside something else are not a marker.
      const quoting: DurableEvent = { type: 'tool_call', ...stamp, callId: 'c', name: 'n', input: compacted('no') }
      await store.append('s', fence, [quoting])

      deepStrictEqual(await store.readActive('s'), [compacted('two'), said('c'), quoting])
      await store.close()
    },
  },
  {
    name: 'waiting messages, the configuration and the identity survive compactions',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const config: DurableEvent = {
        type: 'session_config',
        ...stamp,
        provider: 'p',
        model: 'm',
        systemPrompt: '',
        tools: [],
      }
      const fork: DurableEvent = {
        type: 'fork_marker',
        ...stamp,
        sourceTaskId: 'o',
        title: '',
        description: '',
        worktreePath: null,
      }
      await store.append('s', fence, [config, fork, message('m1'), message('m2'), consumed('m1'), compacted('one')])
      await store.append('s', fence, [message('m3'), compacted('two'), said('after')])

      deepStrictEqual(await store.readActive('s'), [
        config,
        fork,
        message('m2'),
        message('m3'),
        compacted('two'),
        said('after'),
      ])
      await store.append('s', fence, [consumed('m2', 'm3'), compacted('three')])
      deepStrictEqual(await store.readActive('s'), [config, fork, compacted('three')])
      await store.close()
    },
  },
  {
    name: 'a conversation that is taken back goes on from an earlier event, and what waits goes on waiting',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      await store.append('s', fence, [message('m1'), consumed('m1'), called('c1'), answered('c1'), message('m2')])
      await store.append('s', fence, [compacted('sum'), consumed('m2'), message('m3'), rewound(3), said('on')])
      const taken = [message('m1'), consumed('m1'), called('c1'), answered('c1', REWOUND_CALL_TEXT), message('m3')]
      deepStrictEqual(await store.readActive('s'), [...taken, rewound(3), said('on')])
      strictEqual(await store.hasMessage('s', 'm2'), true)

      // Taking back can itself be taken back, and a compaction ends all of it.
      await store.append('s', fence, [rewound(7), said('as before')])
      deepStrictEqual(await store.readActive('s'), [
        ...[message('m2'), compacted('sum'), consumed('m2'), message('m3')],
        ...[rewound(7), said('as before')],
      ])
      await store.append('s', fence, [compacted('end')])
      deepStrictEqual(await store.readActive('s'), [message('m3'), compacted('end')])
      strictEqual(await store.lastSeq('s'), 13)
      await store.close()
    },
  },
  {
    name: 'a question survives compactions until it is answered or its conversation is taken back',
    async run(open) {
      const store = await open()
      const fence = await store.claim('s', 'me')
      const asked: DurableEvent = { type: 'clarification_requested', ...stamp, clarificationId: 'c', question: '?' }
      const answer = { clarificationId: 'c', answer: '!', by: 'user' } as const
      await store.append('s', fence, [asked, compacted('one'), compacted('two')])
      deepStrictEqual(await store.readActive('s'), [asked, compacted('two')])

      await store.append('s', fence, [{ type: 'clarification_answered', ...stamp, ...answer }, compacted('three')])
      deepStrictEqual(await store.readActive('s'), [compacted('three')])

      await store.append('s', fence, [said('before'), asked, rewound(6), compacted('four')])
      deepStrictEqual(await store.readActive('s'), [compacted('four')])
      await store.close()
    },
  },
  {
    name: 'a message is known by its id for ever, so that sending it again changes nothing',
    async run(open) {
      const store = await open()
      await store.append('s', await store.claim('s', 'me'), [message('m1'), consumed('m1'), compacted('one')])

      strictEqual(await store.hasMessage('s', 'm1'), true)
      strictEqual(await store.hasMessage('s', 'm2'), false)
      await store.close()
    },
  },
]
