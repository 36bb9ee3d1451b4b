import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'

export type Typed = { code: number | null; screen: string; questions: string[] }

/** A command that asks something else than expected waits for ever. */
const LIMIT_MS = 90_000
const question = /[^\n\r]*\[Enter\] yes[^\n\r]*: $/

/** Runs a command in a real terminal, and answers each question by pressing Enter. */
export async function typeCommand(
  command: string,
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Typed> {
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    ...{ cwd, env, timeout: LIMIT_MS },
  })
  const questions: string[] = []
  let screen = ''
  let answered = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    const [asked] = question.exec(stripVTControlCharacters(screen.slice(answered))) ?? []
    if (asked === undefined) return
    questions.push(asked.trim())
    answered = screen.length
    child.stdin.write('\r')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, screen: stripVTControlCharacters(screen), questions }
}
