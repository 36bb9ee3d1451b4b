import { createHash } from 'node:crypto'
import { MatrixError, TaskNode } from '@matrix/protocol'
import * as z from 'zod'
import { emptyTree, findBrokenLink, Notice, type Tree } from './tree.ts'

/** A tree as of one moment: everything up to the journal's line `seq` is in it. */
export type SavedTree = { seq: number; tree: Tree }

const version = 1
const footer = /,"sum":"([0-9a-f]{32})"}\n$/

const SavedShape = z.object({
  version: z.literal(version),
  seq: z.int().nonnegative(),
  tasks: z.array(z.unknown()),
  notices: z.array(Notice),
})

/** One task per line, so that people can read, search and compare the file; the sum at the end covers all of it. */
export function formatTree({ seq, tree }: SavedTree): string {
  const tasks = [...tree.tasks.values()].map((task) => JSON.stringify(task)).join(',\n')
  const body = `{"version":${version},"seq":${seq},"tasks":[\n${tasks}\n],"notices":${JSON.stringify([...tree.notices.values()])}`
  return `${body},"sum":"${sumOf(body)}"}\n`
}

/** Reads what `formatTree` wrote. A file that ends early and one that was altered are different errors; both name the file. */
export function parseTree(text: string, file: string): SavedTree {
  const end = footer.exec(text)
  if (!end) throw unfinished(text, file)
  const body = text.slice(0, end.index)
  const saved = SavedShape.safeParse(parseJson(`${body}}`, file))
  if (!saved.success) throw damaged(file, describe(saved.error))
  if (sumOf(body) !== end[1]) throw damaged(file, 'its checksum does not match its content')

  const tree = emptyTree()
  for (const [index, raw] of saved.data.tasks.entries()) {
    const task = TaskNode.safeParse(raw)
    if (!task.success) throw damaged(file, `task ${index + 1} (line ${index + 2}): ${describe(task.error)}`)
    tree.tasks.set(task.data.id, task.data)
  }
  for (const notice of saved.data.notices) tree.notices.set(notice.id, notice)

  const broken = findBrokenLink(tree)
  if (broken) throw damaged(file, broken)
  return { seq: saved.data.seq, tree }
}

/** 128 bits of SHA-256: enough to notice every accident. */
export function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

export function damaged(file: string, reason: string, cause?: unknown): MatrixError {
  return new MatrixError('TREE_DAMAGED', `${file} is damaged: ${reason}`, cause === undefined ? {} : { cause })
}

function unfinished(text: string, file: string): MatrixError {
  if (text === '') return new MatrixError('TREE_TRUNCATED', `${file} is empty`)
  if (/,"sum":"[0-9a-f]{32}"}\n/.test(text)) return damaged(file, 'something follows its end')
  if (!text.startsWith('{"version":') || text.endsWith('}\n'))
    return damaged(file, 'it is not a tree that Matrix wrote')
  return new MatrixError('TREE_TRUNCATED', `${file} ends in the middle, after ${Buffer.byteLength(text)} bytes`)
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw damaged(file, 'it is not JSON', error)
  }
}

function describe(error: z.ZodError): string {
  const issue = error.issues[0]
  return issue ? `${issue.path.join('.') || 'value'}: ${issue.message}` : error.message
}
