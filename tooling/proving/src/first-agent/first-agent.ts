import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectLocal } from '@matrix/client/node'
import { compareResults, countTests } from '../compare.ts'
import { installPackages } from '../debian.ts'
import { layOut } from '../layout.ts'
import { type ObedientModel, orderSteps, type Step, startObedientModel } from '../obedient-model.ts'
import { runOutside } from '../outside.ts'
import type { Project } from '../project.ts'
import { runProgram } from '../run-command.ts'
import { matrixBin, untilDone } from '../stage.ts'
import { COMMAND_LIMIT_MS, readRun, recorded } from '../suite-run.ts'
import { terminalEnvironment } from '../terminal-environment.ts'
import { type Typed, typeCommand } from './typed-command.ts'

/** What lies between a clone and the first agent at work, for a user who has Matrix and a key. */
export type FirstAgent = {
  name: string
  language: string
  commands: number
  questions: string[]
  /** From the first command to the first request that the model gets. */
  ms: number
  outside: number
  inside: number
  faults: string[]
}

const REQUEST_MS = 300_000

export async function measureFirstAgent(project: Project, cache: string): Promise<FirstAgent> {
  const { name, language } = project
  const first: FirstAgent = { name, language, commands: 0, questions: [], ms: 0, outside: 0, inside: 0, faults: [] }
  try {
    await installPackages(project.packages ?? [])
    const ground = await layOut(project, cache)
    const outside = await runOutside(project, ground.outside)
    first.outside = countTests(outside.results)
    const machine = await openMachine(join(ground.folder, 'machine'))
    try {
      const worktree = await typeAll(project, { machine, origin: ground.repository, first })
      const inside = readRun(project, worktree)
      first.inside = countTests(inside.results)
      for (const one of compareResults(project, outside.results, inside.results).filter(({ why }) => !why))
        first.faults.push(`${one.test}: ${one.outside} outside, ${one.inside} inside`)
    } finally {
      await machine.close()
    }
  } catch (error) {
    first.faults.push(error instanceof Error ? error.message : String(error))
  }
  return first
}

type Machine = { home: string; env: NodeJS.ProcessEnv; model: ObedientModel; close(): Promise<void> }

/** A user who has toolchains in their home, an identity in git, a key in the environment, and nothing of Matrix on disk. */
async function openMachine(folder: string): Promise<Machine> {
  const [home, bin] = [join(folder, 'home'), join(folder, 'bin')]
  const identity = join(folder, 'gitconfig')
  rmSync(folder, { recursive: true, force: true })
  for (const path of [home, bin]) mkdirSync(path, { recursive: true })
  writeFileSync(identity, '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  writeFileSync(join(bin, 'matrix'), `#!/bin/sh\nexec '${process.execPath}' '${matrixBin}' "$@"\n`, { mode: 0o755 })
  const model = await startObedientModel()
  const terminal = terminalEnvironment()
  const key = { ANTHROPIC_API_KEY: 'sk-ant-obedient', ANTHROPIC_BASE_URL: model.url }
  const own = { MXD_DATA_DIR: join(home, '.mxd'), GIT_CONFIG_GLOBAL: identity, PATH: `${bin}:${terminal.PATH}` }
  const env = { ...terminal, ...key, ...own }
  return {
    ...{ home, env, model },
    async close() {
      await runProgram(['matrix', 'daemon', 'stop', '--force'], { cwd: '/', env })
      await model.close()
    },
  }
}

type Stand = { machine: Machine; origin: string; first: FirstAgent }

/** Types the three commands, and answers the folder in which the agent ran the tests. */
async function typeAll(project: Project, { machine, origin, first }: Stand): Promise<string> {
  const { home, env, model } = machine
  const checkout = join(home, project.name)
  const start = performance.now()
  const type = async (command: string, cwd: string): Promise<Typed> => {
    const typed = await typeCommand(command, { cwd, env })
    first.commands += 1
    first.questions.push(...typed.questions)
    if (typed.code !== 0) throw new Error(`${command} ended with ${typed.code}:\n${typed.screen.slice(-2000)}`)
    return typed
  }
  await type(`git clone ${origin} ${checkout}`, home)
  const { screen } = await type('matrix init --port 0', checkout)
  const order = join(dirname(checkout), 'order')
  writeFileSync(order, orderSteps(stepsOf(project, screen)))
  await type(`matrix send root "$(cat ${order})"`, checkout)
  for (const end = Date.now() + REQUEST_MS; model.requests.length === 0; await sleep(20))
    if (Date.now() > end) throw new Error('The agent has asked its model nothing for five minutes.')
  first.ms = performance.now() - start

  const client = await connectLocal(join(home, '.mxd'))
  const { worktreePath } = await untilDone({ client, repository: checkout, complaints: model.complaints })
  if (!worktreePath) throw new Error('The agent has no worktree.')
  return worktreePath
}

/** Where `init` proposes no setup, building is part of the work, as in a terminal. */
function stepsOf({ setup, test }: Project, screen: string): Step[] {
  const own = setup && screen.includes('needs no setup') ? `${setup} && ` : ''
  return [
    { tool: 'bash', input: { command: recorded(`${own}${test}`, 'test'), timeout_ms: COMMAND_LIMIT_MS } },
    { tool: 'bash', input: { command: 'git restore . && git clean -fdq' } },
    { tool: 'done', input: { status: 'passed', summary: 'The tests ran.' } },
  ]
}
