import type { Conversation, Playbook, Turn } from '@matrix/mock-provider'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'

const waits: Turn = { toolCalls: [{ name: loopTools.yield }] }
const rounds = 12
const callsOfRound = 40

/** What an agent that was talked into it might write to get at whoever reads along. */
const hostileWords = `All counted.

<img src="x" onerror="document.title='owned'"> <script>document.title = 'owned'</script>

[a link](javascript:document.title='owned') and [another](https://example.com/?secret=1)

![a picture](https://example.com/beacon.png)`

/** A clerk who does a great many small things, and two painters who want the same wall in different colours. */
export function workshopPlaybook(): Playbook {
  return {
    title: 'The workshop',
    opening: 'Count everything.',
    stateless: true,
    conversations: [clerk, painter('red'), painter('blue')],
  }
}

const clerk: Conversation = {
  name: 'clerk',
  match: 'Count everything',
  turns: [
    ...Array.from(
      { length: rounds },
      (_, round): Turn => ({
        text: `Round ${round + 1} of ${rounds}.`,
        toolCalls: Array.from({ length: callsOfRound }, (_, index) => ({
          name: builtinTools.listFiles,
          input: { pattern: `nothing-${round + 1}-${index + 1}*` },
        })),
      }),
    ),
    { text: hostileWords, ...waits },
    {
      assert: { userText: 'Start the watcher' },
      toolCalls: [
        { name: builtinTools.bash, input: { command: 'while true; do echo tick; sleep 1; done', background: true } },
      ],
    },
    { text: 'The watcher runs.', ...waits },
    { assert: { userText: 'tick' }, text: 'The watcher is gone.', ...waits },
    { assert: { userText: 'Take your time' }, delayMs: 4000, text: 'That took a while.', ...waits },
    { assert: { userText: 'Second thought, improved' }, text: 'Understood.', ...waits },
    { assert: { userText: 'Look at this', images: 1 }, text: 'A small picture.', ...waits },
    { assert: { userText: 'Sleep' }, delayMs: 60_000, text: 'Awake.', ...waits },
    waits,
  ],
}

function painter(colour: string): Conversation {
  return {
    name: colour,
    match: `Paint the wall ${colour}`,
    turns: [
      {
        toolCalls: [
          { name: builtinTools.writeFile, input: { path: 'wall.txt', content: `the wall is ${colour}\nand high\n` } },
        ],
      },
      { toolCalls: [{ name: orchestratorTools.commit, input: { message: `feat: a ${colour} wall` } }] },
      { text: 'It dries.', ...waits },
      {
        assert: { userText: 'Another coat' },
        toolCalls: [
          { name: builtinTools.writeFile, input: { path: 'second-coat.txt', content: `also ${colour}\n` } },
          { name: builtinTools.writeFile, input: { path: 'wall.txt', content: `  the wall is ${colour}\nand high\n` } },
        ],
      },
      { toolCalls: [{ name: orchestratorTools.commit, input: { message: 'feat: another coat' } }] },
      { text: 'It dries again.', ...waits },
      waits,
    ],
  }
}
