import { MatrixError } from '@matrix/protocol'
import type { Attention } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { connect } from '../place.ts'
import { askText, isInteractive } from '../prompt.ts'
import { shortId } from '../short-id.ts'
import { print, printJson } from '../terminal.ts'
import { findWaiting, formatAttention } from './inbox.ts'

type AnswerOptions = { json?: boolean }

/** Answers what an agent asked: the question that is named, or the only one, or each in turn. */
export async function answer(
  id: string | undefined,
  words: readonly string[],
  options: AnswerOptions,
): Promise<ExitCode> {
  const client = await connect()
  const questions = (await client.listAttention()).filter(({ kind }) => kind === 'question')
  if (options.json && id === undefined) {
    printJson(questions)
    return exitCode.ok
  }
  if (questions.length === 0 && id === undefined) {
    print('No agent asks anything.')
    return exitCode.ok
  }

  const chosen = id === undefined ? questions : [await findWaiting(client, questions, id)]
  for (const question of chosen) {
    const text = words.length > 0 ? await readWords(words) : await askPerson(question)
    if (text === '') continue
    const said = optionOf(question, text)
    await client.answerQuestion({ projectId: question.projectId, questionId: question.id, body: { answer: said } })
    if (options.json) printJson({ id: question.id, answer: said })
    else print('Answered.')
  }
  return exitCode.ok
}

async function readWords(words: readonly string[]): Promise<string> {
  if (words.length === 1 && words[0] === '-') return (await readInput('-', 1_000_000)).toString('utf8').trim()
  return words.join(' ')
}

async function askPerson(question: Attention): Promise<string> {
  print(formatAttention(question))
  if (!isInteractive())
    throw new MatrixError('REQUEST_INVALID', 'There is no answer.', {
      hint: `Write matrix answer ${shortId(question.taskId)} "…".`,
    })
  return askText('Your answer (empty to leave it): ')
}

/** The number of an offered answer stands for it; where answers are offered, a number beyond them is a slip. */
function optionOf({ options = [], taskId }: Attention, text: string): string {
  if (options.length === 0 || !/^\d+$/.test(text) || options.includes(text)) return text
  const chosen = options[Number(text) - 1]
  if (chosen !== undefined) return chosen
  throw new MatrixError('REQUEST_INVALID', `There is no answer ${text}: ${options.length} are offered.`, {
    hint: `Give its number, or other words: matrix answer ${shortId(taskId)} "…".`,
  })
}
