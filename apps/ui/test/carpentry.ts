import type { Conversation, Playbook, Turn } from '@matrix/mock-provider'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'

const waits: Turn = { toolCalls: [{ name: loopTools.yield }] }
const write = (content: string): Turn => ({
  toolCalls: [{ name: builtinTools.writeFile, input: { path: 'door.txt', content } }],
})
const commit = (message: string): Turn => ({ toolCalls: [{ name: orchestratorTools.commit, input: { message } }] })
const done = (summary: string): Turn => ({
  toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary } }],
})

/** A carpenter who asks first, so that there is time to change the same door, and who can be asked to put it right. */
export function carpentryPlaybook(): Playbook {
  return { title: 'One door', opening: 'Paint the door.', stateless: true, conversations: [carpenter] }
}

const carpenter: Conversation = {
  name: 'carpenter',
  match: 'Paint the door',
  turns: [
    {
      toolCalls: [{ name: loopTools.clarify, input: { question: 'Which colour?', options: ['red', 'blue'] } }],
    },
    write('the door is red\n'),
    commit('feat: a red door'),
    done('The door is red.'),
    {
      assert: { userText: 'Your branch conflicts with its target' },
      toolCalls: [{ name: orchestratorTools.updateBranch, input: {} }],
    },
    write('the door is red and has a lock\n'),
    commit('merge: the lock'),
    done('The door is red and has a lock.'),
    waits,
  ],
}
