import { randomUUID } from 'node:crypto'
import { type Image, MatrixError, printableLine } from '@matrix/protocol'
import type { Problem } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { openTask, type PlaceOptions } from '../place.ts'
import { shortId } from '../short-id.ts'
import { colorsFor, print, printError, printJson } from '../terminal.ts'

type SendOptions = PlaceOptions & { image?: string[]; agent?: string; follow?: boolean; json?: boolean }

const MAX_TEXT = 1_000_000
const MAX_IMAGE = 5_000_000

/** Says something to a task: that starts its agent, wakes it, or reaches it while it works. */
export async function send(name: string, words: readonly string[], options: SendOptions): Promise<ExitCode> {
  const text = await readText(words)
  const images = await Promise.all((options.image ?? []).map(readImage))
  if (text.trim() === '' && images.length === 0)
    throw new MatrixError('REQUEST_INVALID', 'There is nothing to send.', {
      hint: 'Write the text after the task, or - to read it from standard input.',
    })

  const place = await openTask(name, options)
  const { client, project, task } = place
  const { agent } = options
  const body = { text, ...(images.length > 0 && { images }), ...(agent && { agent }), requestId: randomUUID() }
  const { messageId, waitsFor, command } = await client.sendMessage({ projectId: project.id, taskId: task.id, body })
  if (options.json)
    printJson({ projectId: project.id, taskId: task.id, messageId, waitsFor, ...(command && { command }) })
  else if (command) print(`Ran /${command} on ${printableLine(task.title)}.`)
  else if (waitsFor) printError(tellWaiting(task.title, waitsFor))
  else
    print(
      `Sent to ${printableLine(task.title)}.${options.follow ? '' : ` Follow it with: matrix watch ${name === 'root' ? name : shortId(task.id)}`}`,
    )
  if (waitsFor) return exitCode.findings
  if (!options.follow) return exitCode.ok
  const { followTask } = await import('./watch.ts')
  return followTask(place, { after: task.lastSeq, verbose: false, json: options.json ?? false })
}

function tellWaiting(title: string, { message, hint }: Problem): string {
  const { yellow } = colorsFor(process.stderr)
  return [
    yellow(`Kept for ${printableLine(title)}, not started. ${printableLine(message)}.`),
    `  ${printableLine(hint)} The task then starts by itself.`,
  ].join('\n')
}

async function readText(words: readonly string[]): Promise<string> {
  const isPiped = words.length === 0 && !process.stdin.isTTY
  if (!isPiped && !(words.length === 1 && words[0] === '-')) return words.join(' ')
  return (await readInput('-', MAX_TEXT)).toString('utf8')
}

const signatures: [mediaType: Image['mediaType'], starts: string][] = [
  ['image/png', '89504e47'],
  ['image/jpeg', 'ffd8ff'],
  ['image/gif', '47494638'],
  ['image/webp', '52494646'],
]

async function readImage(path: string): Promise<Image> {
  const bytes = await readInput(path, MAX_IMAGE)
  const start = bytes.subarray(0, 4).toString('hex')
  const mediaType = signatures.find(([, signature]) => start.startsWith(signature))?.[0]
  if (!mediaType)
    throw new MatrixError('DOCUMENT_UNREADABLE', `${path} is not a picture that models can see.`, {
      hint: 'Give a PNG, JPEG, GIF or WebP file.',
    })
  return { mediaType, data: bytes.toString('base64') }
}
