import type { Conversation, Playbook, Turn } from '@matrix/mock-provider'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'
import { lineTotal, receiptSource, rest, tests } from './sources.ts'

/** What a person says to begin the story. A real model can be told the same. */
export const goal =
  'Add discounts, tax and a printed receipt to tally. Split it into three sub tasks that work side by side, review and merge what they bring, and leave the tests green.'

export type StoryOptions = {
  /** How long the model seems to think before each answer, so that a person can follow. */
  thinkMs?: number
  /** How long between two pieces of text. */
  typeMs?: number
}

/**
 * The story that the mock provider plays: a root agent and three others. Every request alone decides its answer, so the story
 * goes on wherever anything was killed.
 */
export function buildStory({ thinkMs = 0, typeMs = 0 }: StoryOptions = {}): Playbook {
  const paced = (conversation: Conversation): Conversation => ({
    ...conversation,
    // People who try it say what they like, as often as they like.
    repeats: true,
    turns: conversation.turns.map((turn) => ({ delayMs: thinkMs, chunkSize: 12, chunkDelayMs: typeMs, ...turn })),
  })
  return {
    title: 'Three features for tally',
    opening: goal,
    stateless: true,
    asides: [{ when: 'was interrupted before its result', again: true }],
    conversations: [root, discounts, tax, receipt].map(paced),
  }
}

const wait = { name: loopTools.yield }
const talk = /passed, cost|The user wrote|task tree changed|Message from task|Matrix was started anew/

const root: Conversation = {
  name: 'root',
  match: 'Split it into three sub tasks that work side by side',
  otherwise: [{ when: talk, text: 'Not everything is in yet. I wait for the others.', toolCalls: [wait] }],
  turns: [
    {
      text: 'Three features, and all of them are about how a bill is worked out. I give each a task of its own, so that they can go on side by side.',
      toolCalls: [
        create(
          'Discounts',
          'Lines of a bill can carry a discount: `discount: 0.1` takes ten percent off that line. Why: the shop runs sales. Done when `total` counts it, a test shows it, and `npm test` passes.',
        ),
        create(
          'Tax',
          'Lines of a bill can carry a tax rate: `tax: 0.19` adds nineteen percent to that line. Why: prices are entered without tax. Done when `total` counts it, a test shows it, and `npm test` passes.',
        ),
        create(
          'Receipt',
          'Print a bill as text: one row per line, the amounts right-aligned, the total below. Why: customers want something in their hands. Done when `receipt` is in src/receipt.js with a test, and `npm test` passes.',
        ),
      ],
    },
    {
      capture: {
        discounts: { from: 'toolResults', pattern: 'Created task (\\w+) "Discounts"' },
        tax: { from: 'toolResults', pattern: 'Created task (\\w+) "Tax"' },
        receipt: { from: 'toolResults', pattern: 'Created task (\\w+) "Receipt"' },
      },
      toolCalls: [
        send('{{discounts}}', 'Please start. Keep to whole cents.'),
        send('{{tax}}', 'Please start. Keep to whole cents.'),
        send('{{receipt}}', 'Please start. Ask when something about the layout is not clear.'),
      ],
    },
    { text: 'All three are on their way. I wait until they have something to show.', toolCalls: [wait] },
    {
      assert: { heard: ['"Discounts" passed', '"Tax" passed', '"Receipt" passed'] },
      text: 'All three are done. I read the first before I merge it.',
      toolCalls: [{ name: orchestratorTools.getChanges, input: { taskId: '{{discounts}}', withDiff: true } }],
    },
    {
      assert: { toolResults: [/Would merge cleanly/] },
      text: 'Small, tested, and it merges.',
      toolCalls: [{ name: orchestratorTools.mergeTask, input: { taskId: '{{discounts}}' } }],
    },
    {
      assert: { toolResults: [/Merged as/] },
      toolCalls: [{ name: orchestratorTools.mergeTask, input: { taskId: '{{receipt}}' } }],
    },
    {
      assert: { toolResults: [/Merged as/] },
      toolCalls: [{ name: orchestratorTools.mergeTask, input: { taskId: '{{tax}}' } }],
    },
    {
      assert: { toolResults: [/Not merged: conflicts in src\/tally\.js/] },
      text: 'Discounts and tax changed the same line. Whoever wrote the second one knows best how the two belong together.',
      toolCalls: [
        send(
          '{{tax}}',
          'Your work conflicts with Discounts in src/tally.js. Please bring your branch up to date and resolve it: the discount is taken off first, then tax is added.',
        ),
      ],
    },
    { toolCalls: [wait] },
    {
      assert: { heard: ['The conflict is resolved'] },
      toolCalls: [{ name: orchestratorTools.mergeTask, input: { taskId: '{{tax}}' } }],
    },
    {
      assert: { toolResults: [/Merged as/] },
      text: 'Everything is in. Now all tests together.',
      toolCalls: [bash('npm test')],
    },
    {
      assert: { toolResults: [allPass(8)] },
      toolCalls: ['{{discounts}}', '{{tax}}', '{{receipt}}'].map((taskId) => ({
        name: orchestratorTools.closeTask,
        input: { taskId },
      })),
    },
    {
      text: 'Done.',
      toolCalls: [
        done(
          'Lines can carry a discount and a tax rate, and a bill can be printed as a receipt. Discounts and tax conflicted in `lineTotal`; the discount now comes off first. All 8 tests pass.',
        ),
      ],
    },
  ],
}

const discounts: Conversation = {
  name: 'discounts',
  match: 'takes ten percent off that line',
  otherwise: [{ when: talk, text: 'Noted.', toolCalls: [wait] }],
  turns: [
    { text: 'First I look at how a line is worked out.', toolCalls: [read('src/tally.js')] },
    {
      assert: { toolResults: [/lineTotal/] },
      toolCalls: [
        edit('src/tally.js', lineTotal.plain, lineTotal.discount),
        write('test/discount.test.js', tests.discount),
      ],
    },
    { toolCalls: [bash('node --test')] },
    {
      assert: { toolResults: [allPass(5)] },
      toolCalls: [commit('feat: lines can carry a discount')],
    },
    {
      assert: { toolResults: [/Committed/] },
      toolCalls: [done('`lineTotal` takes `discount` off, rounded to whole cents. Two tests.')],
    },
  ],
}

const tax: Conversation = {
  name: 'tax',
  match: 'adds nineteen percent to that line',
  otherwise: [{ when: talk, text: 'Noted.', toolCalls: [wait] }],
  turns: [
    { toolCalls: [read('src/tally.js')] },
    {
      assert: { toolResults: [/lineTotal/] },
      text: 'The rate belongs to the line, so it goes into `lineTotal`.',
      toolCalls: [edit('src/tally.js', lineTotal.plain, lineTotal.tax), write('test/tax.test.js', tests.tax)],
    },
    { toolCalls: [bash('node --test')] },
    { assert: { toolResults: [allPass(4)] }, toolCalls: [commit('feat: lines can carry a tax rate')] },
    {
      assert: { toolResults: [/Committed/] },
      toolCalls: [done('`lineTotal` adds `tax`, rounded to whole cents. One test.')],
    },
    {
      assert: { heard: ['bring your branch up to date'] },
      text: 'Discounts got there first. I bring that into my branch and put the two together.',
      toolCalls: [{ name: orchestratorTools.updateBranch, input: {} }],
    },
    { assert: { toolResults: [/Conflicts in src\/tally\.js/] }, toolCalls: [read('src/tally.js')] },
    {
      assert: { toolResults: [/<<<<<<</] },
      text: 'The discount comes off first, then tax is added: one line, rounded once.',
      toolCalls: [write('src/tally.js', `${lineTotal.both}\n${rest}`)],
    },
    { toolCalls: [bash('node --test')] },
    { assert: { toolResults: [allPass()] }, toolCalls: [commit('merge: discounts and tax on one line')] },
    {
      assert: { toolResults: [/Committed/] },
      toolCalls: [done('The conflict is resolved: the discount is taken off first, then tax is added.')],
    },
  ],
}

const receipt: Conversation = {
  name: 'receipt',
  match: 'one row per line, the amounts right-aligned',
  otherwise: [{ when: talk, text: 'Noted.', toolCalls: [wait] }],
  turns: [
    { text: 'I look at what there is to print.', toolCalls: [read('src/tally.js'), read('src/money.js')] },
    {
      text: 'Nothing here says which currency the shop uses. Guessing would print it wrong on every receipt.',
      toolCalls: [
        {
          name: loopTools.clarify,
          input: { question: 'Which currency sign goes on the receipt?', options: ['€', '$', '£'] },
        },
      ],
    },
    {
      assert: { userText: /Answer to your question/ },
      capture: { currency: { from: 'userText', pattern: "\\]\\n([^\\s'\\\\]{1,5})" } },
      toolCalls: [write('src/receipt.js', receiptSource), write('test/receipt.test.js', tests.receipt)],
    },
    { toolCalls: [bash('node --test')] },
    {
      assert: { toolResults: [allPass(5)] },
      toolCalls: [commit('feat: a bill can be printed as a receipt')],
    },
    {
      assert: { toolResults: [/Committed/] },
      toolCalls: [done('`receipt(lines)` prints a bill, amounts right-aligned, in {{currency}}. Two tests.')],
    },
  ],
}

type Call = NonNullable<Turn['toolCalls']>[number]

function create(title: string, description: string): Call {
  return { name: orchestratorTools.createTask, input: { title, description } }
}
function send(taskId: string, content: string): Call {
  return { name: orchestratorTools.sendMessage, input: { taskId, content } }
}
function read(path: string): Call {
  return { name: builtinTools.readFile, input: { path } }
}
function write(path: string, content: string): Call {
  return { name: builtinTools.writeFile, input: { path, content } }
}
function edit(path: string, old: string, next: string): Call {
  return { name: builtinTools.editFile, input: { path, old_string: old, new_string: next } }
}
function bash(command: string): Call {
  return { name: builtinTools.bash, input: { command } }
}
function commit(message: string): Call {
  return { name: orchestratorTools.commit, input: { message } }
}
/** What `node --test` prints when all pass: `# pass 5` up to Node 22, `ℹ pass 5` from 23 on. */
function allPass(count?: number): RegExp {
  return new RegExp(`^[#ℹ] pass ${count ?? '\\d+'}$[\\s\\S]*^[#ℹ] fail 0$`, 'm')
}
function done(summary: string): Call {
  return { name: loopTools.done, input: { status: 'passed', summary } }
}
