import type { Conversation, Playbook } from '@matrix/mock-provider'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'

export const crowdGoal = 'Have every part written by somebody of its own, then put all parts together.'

/** Where every worker leaves a line each time its command runs; no part of the repository. */
export const effectsFile = 'effects.log'

/** A root and so many workers. Each leaves a line outside of git, writes its part, and commits it. */
export function buildCrowd(workers: number): Playbook {
  const names = Array.from({ length: workers }, (_, index) => `Part${String(index + 1).padStart(2, '0')}`)
  return {
    title: `A root and ${workers} workers`,
    opening: crowdGoal,
    stateless: true,
    asides: [{ when: 'was interrupted before its result', again: true }],
    conversations: [rootOf(names), ...names.map(workerOf)],
  }
}

const wait = { name: loopTools.yield }
const talk = /passed, cost|The user wrote|task tree changed|Message from task/

function rootOf(names: string[]): Conversation {
  const ids = Object.fromEntries(
    names.map((name) => [name, { from: 'toolResults' as const, pattern: `Created task (\\w+) "${name}"` }]),
  )
  return {
    name: 'root',
    match: 'written by somebody of its own',
    otherwise: [{ when: talk, toolCalls: [wait] }],
    turns: [
      {
        toolCalls: names.map((name) => ({
          name: orchestratorTools.createTask,
          input: { title: name, description: `You write the part that is called <${name}>.` },
        })),
      },
      {
        capture: ids,
        toolCalls: names.map((name) => ({
          name: orchestratorTools.sendMessage,
          input: { taskId: `{{${name}}}`, content: 'Please start.' },
        })),
      },
      { toolCalls: [wait] },
      {
        assert: { heard: names.map((name) => `"${name}" passed`) },
        toolCalls: names.map((name) => ({ name: orchestratorTools.mergeTask, input: { taskId: `{{${name}}}` } })),
      },
      {
        assert: { toolResults: names.map(() => /Merged as/) },
        toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: 'All parts are in.' } }],
      },
    ],
  }
}

function workerOf(name: string): Conversation {
  return {
    name,
    match: `called <${name}>`,
    otherwise: [{ when: talk, toolCalls: [wait] }],
    turns: [
      { toolCalls: [{ name: builtinTools.bash, input: { command: `echo ${name} >> ${effectsFile}` } }] },
      {
        toolCalls: [{ name: builtinTools.writeFile, input: { path: `parts/${name}.txt`, content: `I am ${name}.\n` } }],
      },
      { toolCalls: [{ name: orchestratorTools.commit, input: { message: `feat: ${name}` } }] },
      {
        assert: { toolResults: [/Committed/] },
        toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: `${name} is written.` } }],
      },
    ],
  }
}
