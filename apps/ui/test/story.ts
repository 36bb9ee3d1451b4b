import type { Conversation, Playbook, Turn } from '@matrix/mock-provider'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'

type Call = NonNullable<Turn['toolCalls']>[number]

/** What a person says to begin. */
export const goal =
  'Make the shop ready for spring. Split it into tasks that can go on side by side, and tell me when all are in.'

/** What stands in the repository before anybody works on it. */
export const shopFiles = {
  'package.json': '{ "name": "shop", "type": "module", "scripts": { "test": "node --test" } }\n',
  'watch.js': `setInterval(() => console.log(new Date().toISOString(), 'watching src'), 1000)
`,
  'src/price.js': `/** What a line costs, in cents. */
export function priceOf({ cents, count = 1 }) {
  return cents * count
}
`,
  'src/cart.js': `import { priceOf } from './price.js'

export function total(lines) {
  return lines.reduce((sum, line) => sum + priceOf(line), 0)
}
`,
  'test/cart.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from '../src/cart.js'

test('lines are summed up', () => {
  assert.equal(total([{ cents: 250, count: 2 }, { cents: 100 }]), 600)
})
`,
}

/** What somebody does to the same line on main, while the agents are at work. */
export const priceOnMain = `/** What a line of Blossom & Co. costs, in cents. */
export function priceOf({ cents, count = 1 }) {
  return cents * count
}
`

export const resolvedPrice = `/** What a line of Blossom & Co. costs, in cents. A discount is a share: 0.1 takes ten percent off. */
export function priceOf({ cents, count = 1, discount = 0 }) {
  return Math.round(cents * count * (1 - discount))
}
`

const waits: Turn = { toolCalls: [{ name: loopTools.yield }] }
const talk = /passed, cost|failed, cost|The user wrote|task tree changed|Message from task|Matrix was started anew/
const usage = { inputTokens: 18_000, outputTokens: 900 }

type Branch = { title: string; description: string; opening: string }

const branches: Branch[] = [
  {
    title: 'Spring discount',
    description: 'Every line may carry a share that is taken off. Done when `priceOf` counts it and a test shows it.',
    opening: 'Please start. Keep to whole cents.',
  },
  {
    title: 'Gift wrapping',
    description: 'A line may be wrapped for 150 cents a piece. Done when `priceOf` counts it and a test shows it.',
    opening: 'Please start. Wrapping is not discounted.',
  },
  {
    title: 'Currency of the shop',
    description: 'Prices are shown with a sign. Done when `formatPrice` is in src/format.js with a test.',
    opening: 'Please start. Ask if you are not sure.',
  },
  {
    title: 'Stock from the supplier',
    description: 'The stock list is read from the supplier. Done when `readStock` is in src/stock.js.',
    opening: 'Please start. Their file is on the network.',
  },
  {
    title: 'Opening hours',
    description: 'The shop knows when it is open. Done when `isOpen` is in src/hours.js with a test.',
    opening: 'Please start.',
  },
]

type StoryOptions = {
  thinkMs?: number
  typeMs?: number
  /** Whether the root merges what is done, or leaves the branches side by side. */
  isMerged?: boolean
}

/** A root agent and five others: two whose work collides, one with a question, one that needs leave, and one that fails. */
export function shopStory({ thinkMs = 0, typeMs = 0, isMerged = true }: StoryOptions = {}): Playbook {
  const paced = (conversation: Conversation): Conversation => ({
    otherwise: [{ when: talk, text: 'I wait for the others.', ...waits }],
    ...conversation,
    turns: conversation.turns.map((turn) => ({
      usage,
      delayMs: thinkMs,
      chunkSize: 14,
      chunkDelayMs: typeMs,
      ...turn,
    })),
  })
  return {
    title: 'The shop in spring',
    opening: goal,
    stateless: true,
    asides: [{ when: 'was interrupted before its result', again: true }],
    conversations: [isMerged ? root : idleRoot, discount, wrapping, currency, stock, leaflets, hours].map(paced),
  }
}

const root: Conversation = {
  name: 'root',
  match: 'Make the shop ready for spring',
  turns: [
    {
      text: 'Five things that have little to do with one another. Each gets a task of its own.',
      toolCalls: branches.map(({ title, description }) => call(orchestratorTools.createTask, { title, description })),
    },
    {
      capture: Object.fromEntries(
        branches.map(({ title }, index) => [
          `t${index}`,
          { from: 'toolResults', pattern: `Created task (\\w+) "${title}"` },
        ]),
      ),
      toolCalls: branches.map(({ opening }, index) =>
        call(orchestratorTools.sendMessage, { taskId: `{{t${index}}}`, content: opening }),
      ),
    },
    { text: 'All are on their way.', ...waits },
    {
      assert: { heard: ['"Spring discount" passed', '"Gift wrapping" passed'] },
      text: 'Discounts and wrapping are done. I merge the first.',
      toolCalls: [call(orchestratorTools.mergeTask, { taskId: '{{t0}}' })],
    },
    { assert: { toolResults: [/Merged as/] }, text: 'Now the others.', ...waits },
    {
      assert: { heard: [/conflict/i] },
      text: 'Somebody else changed the same line. I bring my branch up to date.',
      toolCalls: [call(orchestratorTools.updateBranch, {})],
    },
    {
      text: 'Both are wanted: the name of the shop, and the discount.',
      toolCalls: [call(builtinTools.writeFile, { path: 'src/price.js', content: resolvedPrice })],
    },
    { toolCalls: [call(orchestratorTools.commit, { message: 'merge: what happened on main meanwhile' })] },
    { text: 'The conflict is resolved, and the discount is in.', ...waits },
    waits,
  ],
}

/** The same, but it only waits once the others are on their way. */
const idleRoot: Conversation = { ...root, turns: [...root.turns.slice(0, 3), waits] }

const discount: Conversation = {
  name: 'discount',
  match: 'a share that is taken off',
  turns: [
    {
      thinking: 'The price of a line is worked out in one place. A share belongs there.',
      text: 'First I look at how a line is worked out.',
      toolCalls: [call(builtinTools.readFile, { path: 'src/price.js' })],
    },
    {
      text: 'The share belongs to the line:\n\n- it is taken off **before** the sum\n- the result is rounded to whole cents',
      toolCalls: [
        call(builtinTools.writeFile, {
          path: 'src/price.js',
          content: `/** What a line costs, in cents. A discount is a share: 0.1 takes ten percent off. */
export function priceOf({ cents, count = 1, discount = 0 }) {
  return Math.round(cents * count * (1 - discount))
}
`,
        }),
        call(builtinTools.writeFile, {
          path: 'test/discount.test.js',
          content: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceOf } from '../src/price.js'

test('a discount comes off its own line', () => {
  assert.equal(priceOf({ cents: 1000, discount: 0.1 }), 900)
})
`,
        }),
      ],
    },
    { toolCalls: [call(builtinTools.bash, { command: 'node --test' })] },
    { toolCalls: [call(orchestratorTools.commit, { message: 'feat: a line may carry a discount' })] },
    { toolCalls: [passed('`priceOf` takes `discount` off, rounded to whole cents. One test.')] },
    waits,
  ],
}

const wrapping: Conversation = {
  name: 'wrapping',
  match: 'wrapped for 150 cents a piece',
  turns: [
    { toolCalls: [call(builtinTools.readFile, { path: 'src/price.js' })] },
    {
      text: 'Wrapping costs the same for everything, so it is added per piece.',
      toolCalls: [
        call(builtinTools.writeFile, {
          path: 'src/price.js',
          content: `const wrapping = 150

/** What a line costs, in cents, wrapped or not. */
export function priceOf({ cents, count = 1, isWrapped = false }) {
  return (cents + (isWrapped ? wrapping : 0)) * count
}
`,
        }),
      ],
    },
    { toolCalls: [call(orchestratorTools.commit, { message: 'feat: a line may be wrapped' })] },
    { toolCalls: [passed('`priceOf` adds 150 cents for each wrapped piece.')] },
    { text: 'I had a look at your comment and agree.', ...waits },
    waits,
  ],
}

const currency: Conversation = {
  name: 'currency',
  match: 'Prices are shown with a sign',
  turns: [
    {
      text: 'Nothing here says which currency the shop uses.',
      toolCalls: [call(loopTools.clarify, { question: 'Which sign goes with a price?', options: ['€', '$', '£'] })],
    },
    {
      capture: { sign: { from: 'userText', pattern: "\\]\\n([^\\s'\\\\]{1,5})" } },
      toolCalls: [
        call(builtinTools.writeFile, {
          path: 'src/format.js',
          content: `export function formatPrice(cents) {
  return \`\${(cents / 100).toFixed(2)} {{sign}}\`
}
`,
        }),
      ],
    },
    { toolCalls: [call(orchestratorTools.commit, { message: 'feat: prices are shown with a sign' })] },
    { toolCalls: [passed('`formatPrice` shows cents with {{sign}}.')] },
    waits,
  ],
}

const stock: Conversation = {
  name: 'stock',
  match: 'read from the supplier',
  turns: [
    {
      text: 'I watch the sources while I work.',
      toolCalls: [call(builtinTools.bash, { command: 'node watch.js', background: true })],
    },
    {
      text: 'Their list is on the network. I fetch it once to see its form.',
      toolCalls: [
        call(builtinTools.bash, {
          command: 'curl -sS https://supplier.example/stock.csv | head -5',
          timeout_ms: 20_000,
        }),
      ],
    },
    {
      text: 'Then I look at what is here already.',
      toolCalls: [call(builtinTools.bash, { command: 'ls src && echo $((6 * 7)) files at most' })],
    },
    { text: 'I write it against the form they describe, and wait for their list.', ...waits },
    waits,
  ],
}

const leaflets: Conversation = {
  name: 'leaflets',
  match: 'leaflet for the window',
  turns: [
    { text: 'I see what there is to advertise.', toolCalls: [call(builtinTools.listFiles, { pattern: 'src/**' })] },
    {
      toolCalls: [call(builtinTools.writeFile, { path: 'leaflet.md', content: '# Spring at Blossom & Co.\n' })],
    },
    { toolCalls: [call(orchestratorTools.commit, { message: 'docs: a leaflet' })] },
    { toolCalls: [passed('A leaflet for the window.')] },
    waits,
  ],
}

const hours: Conversation = {
  name: 'hours',
  match: 'The shop knows when it is open',
  turns: [
    {
      text: 'Saturdays differ from the rest of the week, so a table it is.',
      toolCalls: [call(builtinTools.listFiles, { pattern: 'src/**' })],
    },
    {
      toolCalls: [
        call(loopTools.done, {
          status: 'failed',
          summary: 'Nobody wrote down when the shop is open, and I found no place to look.',
        }),
      ],
    },
    waits,
  ],
}

function call(name: string, input: unknown): Call {
  return { name, input }
}

function passed(summary: string): Call {
  return call(loopTools.done, { status: 'passed', summary })
}
