import { type MockProvider, openMockProvider, type Playbook, parsePlaybook } from '@matrix/mock-provider'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { plural } from '@matrix/protocol/display'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { colorsFor, print, printError } from '../terminal.ts'

/** Plays a playbook until it is interrupted, and tells how it went. */
export async function mockProvider(file: string, options: { port?: string; json?: boolean }): Promise<ExitCode> {
  const port = readPort(options.port)
  const playbook = parsePlaybook((await readInput(file)).toString('utf8'), file === '-' ? 'standard input' : file)
  const report = options.json ? jsonReport() : textReport()
  const mock = await open(playbook, port, report.problem)
  report.start(playbook, mock)
  await interrupted()
  await mock.close()
  return report.end(mock)
}

function readPort(text = '0'): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new MatrixError('DOCUMENT_UNREADABLE', `${text} is not a port.`, {
    hint: 'Give a number from 1 to 65535, or leave --port out.',
  })
}

function open(playbook: Playbook, port: number, onProblem: (problem: string) => void): Promise<MockProvider> {
  return openMockProvider({ playbook, port, onProblem, forgetful: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EADDRINUSE' && cause.code !== 'EACCES') throw cause
    const why = cause.code === 'EACCES' ? 'needs more rights than you have' : 'is in use'
    throw new MatrixError('PORT_IN_USE', `Port ${port} ${why}.`, {
      hint: 'Choose another --port, or leave it out to get a free one.',
      cause,
    })
  })
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
}

type Report = {
  start(playbook: Playbook, mock: MockProvider): void
  problem(problem: string): void
  end(mock: MockProvider): ExitCode
}

function textReport(): Report {
  const { red, green, dim } = colorsFor(process.stderr)
  return {
    start({ title, opening, conversations }, { url, openaiUrl }) {
      print(`Anthropic  ${url}\nOpenAI     ${openaiUrl}`)
      const turns = conversations.reduce((sum, conversation) => sum + conversation.turns.length, 0)
      printError(
        dim(
          `playing ${printableLine(title ?? 'the playbook')}: ${plural(conversations.length, 'conversation')}, ${plural(turns, 'turn')}`,
        ),
      )
      if (opening !== undefined) printError(dim(`begin it with: ${printableLine(opening)}`))
      printError(dim('Ctrl-C ends it.'))
    },
    problem: (problem) => printError(`${red('wrong:')} ${printable(problem)}`),
    end({ problems, unplayed }) {
      for (const { name, turns } of unplayed())
        printError(`${red('left:')} ${printableLine(name)}: ${turns} scripted turns were never asked for`)
      const code = outcome(problems, unplayed())
      printError(code === exitCode.ok ? green('played as written') : red('not played as written'))
      return code
    },
  }
}

function jsonReport(): Report {
  const printLine = (value: object) => print(JSON.stringify(value))
  return {
    start: (_, { url, openaiUrl }) => printLine({ type: 'listening', anthropic: url, openai: openaiUrl }),
    problem: (problem) => printLine({ type: 'problem', message: printable(problem) }),
    end({ problems, unplayed }) {
      printLine({ type: 'ended', problems: problems.length, unplayed: unplayed() })
      return outcome(problems, unplayed())
    },
  }
}

function outcome(problems: string[], unplayed: object[]): ExitCode {
  return problems.length + unplayed.length === 0 ? exitCode.ok : exitCode.findings
}
