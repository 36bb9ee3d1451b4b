import type { TaskNode } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import type { Disk, DiskFile } from './disk.ts'
import { type Fault, faultyDisk } from './faulty-disk.ts'
import { DiskDied, randomFrom, type SimulatedDisk, simulatedDisk } from './simulated-disk.ts'
import { closeTask, createTask, deleteTask, recordTask, reorderTasks, updateTask } from './task-operations.ts'
import { createTree, openTree, type TaskTree } from './task-tree.ts'

const crashPoints = Number(process.env.MATRIX_CRASH_POINTS ?? 2000)

// Small limits, so that a short run rewrites, journals and compacts many times.
const limits = { journalAboveBytes: 1500, compactAboveBytes: 1200 }

test(
  `a process killed or a power cut at any of ${crashPoints} points loses no acknowledged change and shows no half one`,
  async () => {
    const failures = await sweep(crashPoints, (disk) => disk)

    expect(failures).toEqual([])
  },
  120_000 + crashPoints * 20,
)

describe('the crash sweep notices', () => {
  for (const [what, plant] of Object.entries(plantedBugs()))
    test(what, async () => {
      const failures = await sweep(1500, plant, 1)

      expect(failures.length).toBeGreaterThan(0)
    }, 60_000)
})

describe('with a disk that fails', () => {
  for (const code of ['ENOSPC', 'EIO', 'EACCES', 'EDQUOT', 'short'])
    test(`${code} at any single operation leaves every acknowledged change readable`, async () => {
      const { total, states } = await counted()
      for (let at = 1; at <= total; at++) await failOnce(code, at, states)
    }, 60_000)

  test('a full disk is reported as such, and once there is room the same tree goes on', async () => {
    let full = false
    const inner = simulatedDisk(3)
    const disk = faultyDisk(inner, ({ name }) => (full && name === 'write' ? { code: 'ENOSPC' } : undefined))
    const tree = await createTree('/p', root, { disk, ...limits })
    for (let index = 0; index < 20; index++) {
      full = true
      await expect(add(tree, `Lost ${index}`)).rejects.toMatchObject({
        code: 'STORAGE_FULL',
        message: expect.stringContaining('/p/tree.j'),
      })
      full = false
      await add(tree, `Kept ${index}`)
    }

    const again = await openTree('/p', { disk: inner, ...limits })
    expect(again.list()).toEqual(tree.list())
    expect(again.size).toBe(21)
  })

  test('after a sync that failed nothing more is written, because nobody knows what the disk holds', async () => {
    let fail = false
    const inner = simulatedDisk(4)
    const disk = faultyDisk(inner, ({ name }) => (fail && name === 'sync' ? { code: 'EIO' } : undefined))
    const tree = await createTree('/p', root, { disk, journalAboveBytes: 1 })
    await add(tree, 'Kept')
    fail = true
    await expect(add(tree, 'Lost')).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining('EIO'),
    })
    fail = false

    await expect(add(tree, 'Later')).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(tree.size).toBe(2)
  })
})

type Failure = { seed: number; step: number; how: string; why: string }

/** Runs the same work again and again, each time dying at the next operation, and checks what the next process finds. */
async function sweep(points: number, plant: (disk: Disk) => Disk, enough = 5): Promise<Failure[]> {
  const failures: Failure[] = []
  let done = 0
  for (let seed = 1; done < points && failures.length < enough; seed++) {
    const { total, states } = await undisturbed(seed, plant)
    for (let step = 1; step <= total && done < points && failures.length < enough; step++, done++) {
      const how = (seed + step) % 2 ? 'power' : 'process'
      const why = await dieTwice({ seed, step, how, plant, expected: states })
      if (why) failures.push({ seed, step, how, why })
    }
  }
  return failures
}

/** What each change leads to when nothing goes wrong, and how many operations that takes with the planted bug. */
async function undisturbed(seed: number, plant: (disk: Disk) => Disk): Promise<{ total: number; states: string[] }> {
  const states: string[] = []
  await work(simulatedDisk(seed), seed, states)
  const disk = simulatedDisk(seed)
  await work(plant(disk), seed, []).catch(() => {})
  return { total: disk.steps, states }
}

type Death = { seed: number; step: number; how: 'process' | 'power'; plant: (disk: Disk) => Disk; expected: string[] }

async function dieTwice({ seed, step, how, plant, expected }: Death): Promise<string | undefined> {
  const disk = simulatedDisk(seed)
  const acknowledged: string[] = []
  disk.dieAt(step)
  await work(plant(disk), seed, acknowledged).catch(ignoreDeath)
  // The last acknowledged state, or one step further: whoever asked for that step was never answered.
  const allowed = [acknowledged.at(-1) ?? missing, expected[acknowledged.length] ?? missing]

  // The second process dies as well, a few steps into its recovery and its first change.
  const second = disk.restart(how)
  second.dieAt(1 + Math.floor(randomFrom(seed * 7919 + step)() * 14))
  try {
    const problem = await resume(plant(second), allowed)
    if (problem) return `second process: ${problem}`
  } catch (error) {
    if (!isDeath(error)) return `second process: ${(error as Error).message}`
  }
  return check(second.restart(how === 'power' ? 'process' : 'power'), allowed)
}

/** Some changes that depend on the seed only, each state noted once it is acknowledged. */
async function work(disk: Disk, seed: number, states: string[]): Promise<void> {
  const random = randomFrom(seed + 1)
  let count = 0
  const newId = () => `01KMAB${String(seed).padStart(4, '0')}${String(count++).padStart(16, '0')}`
  const now = () => new Date(Date.UTC(2026, 0, 1, 0, 0, count))
  const tree = await createTree('/p', root, { disk, newId, now, ...limits })
  states.push(stateOf(tree))
  for (let index = 0; index < 14; index++) {
    await someChange(tree, random)
    states.push(stateOf(tree))
  }
  await tree.close()
}

async function someChange(tree: TaskTree, random: () => number): Promise<unknown> {
  const editedBy = random() < 0.5 ? 'user' : 'agent'
  const tasks = tree.list().slice(1)
  const some = tasks[Math.floor(random() * tasks.length)]
  const pick = random()
  if (!some || pick < 0.5)
    return createTask(
      tree,
      some && random() < 0.3 ? some.id : tree.root().id,
      { title: `T${tree.size}` },
      { editedBy, maxDepth: 50 },
    )
  if (pick < 0.65)
    return updateTask(tree, some.id, { title: `${some.title}!`, budgetUsd: random() < 0.5 ? 1 : null }, { editedBy })
  if (pick < 0.75) return recordTask(tree, some.id, { add: { usd: 0.25 } })
  if (pick < 0.85) return reorderTasks(tree, tree.root().id, tree.root().children.toReversed(), { editedBy })
  if (pick < 0.95 || some.children.length > 0)
    return some.status === 'closed' ? undefined : closeTask(tree, some.id, { editedBy })
  return deleteTask(tree, some.id, { editedBy })
}

async function resume(disk: Disk, allowed: string[]): Promise<string | undefined> {
  const tree = await openTree('/p', { disk, ...limits }).catch(ignoreMissing)
  const found = tree ? stateOf(tree) : missing
  if (!allowed.includes(found)) return 'it finds what nobody was promised'
  if (!tree) return undefined
  // What it read it acts on: from here on that counts as acknowledged.
  const next = found.replace('Root', 'Resumed')
  allowed.splice(0, allowed.length, found, next)
  await updateTask(tree, tree.root().id, { title: 'Resumed' }, { editedBy: 'agent' })
  allowed.splice(0, allowed.length, next)
  return undefined
}

async function check(disk: SimulatedDisk, allowed: string[]): Promise<string | undefined> {
  try {
    const tree = await openTree('/p', { disk, ...limits }).catch(ignoreMissing)
    return allowed.includes(tree ? stateOf(tree) : missing) ? undefined : 'what is found is not what was promised'
  } catch (error) {
    return (error as Error).message
  }
}

const missing = 'no tree'

function stateOf(tree: TaskTree): string {
  const tasks = tree.list().map(({ updatedAt, editedBy, ...task }) => Object.entries(task).toSorted())
  return JSON.stringify({ tasks, notices: tree.notices() })
}

function ignoreDeath(error: unknown): void {
  if (!isDeath(error)) throw error
}

function isDeath(error: unknown): boolean {
  return error instanceof DiskDied || (error instanceof Error && error.cause !== undefined && isDeath(error.cause))
}

function ignoreMissing(error: { code?: string }): undefined {
  if (error.code !== 'TREE_MISSING') throw error
}

/** Each breaks one rule of the store by lying to it, as the code would if that rule were forgotten. */
function plantedBugs(): Record<string, (disk: Disk) => Disk> {
  const onFiles =
    (change: (file: DiskFile, path: string) => Partial<DiskFile>) =>
    (disk: Disk): Disk => ({
      ...disk,
      open: async (path, how) => {
        const file = await disk.open(path, how)
        return { ...file, ...change(file, path) }
      },
    })
  const isJournal = (path: string) => path.endsWith('.jsonl')
  const nothing = async () => {}
  return {
    'a new file that is renamed without being synced': onFiles((_, path) => (isJournal(path) ? {} : { sync: nothing })),
    'a journal that is never synced': onFiles((_, path) => (isJournal(path) ? { sync: nothing } : {})),
    'a rename whose folder is never synced': (disk) => ({ ...disk, syncDirectory: nothing }),
    'a file that is overwritten in place': (disk) => ({
      ...disk,
      open: (path, how) => disk.open(path.replace(/\.tmp$/, ''), how),
      rename: nothing,
    }),
    'a torn line that is not cut off': onFiles((_, path) => (isJournal(path) ? { truncate: nothing } : {})),
    'a short write taken for a whole one': onFiles((file) => ({
      write: async (bytes, at) => {
        await file.write(bytes.length > 700 ? bytes.subarray(0, 700) : bytes, at)
        return bytes.length
      },
    })),
    'an answer before the write': onFiles((file, path) =>
      isJournal(path)
        ? {
            write: async (bytes, at) => {
              void file.write(bytes, at).catch(() => {})
              return bytes.length
            },
            sync: nothing,
          }
        : {},
    ),
    'a journal that is emptied before the tree is rewritten': (disk) => ({
      ...disk,
      open: async (path, how) => {
        if (path.endsWith('.tmp')) {
          const journal = await disk.open('/p/tree.journal.jsonl', 'update')
          await journal.truncate(0)
          await journal.sync()
          await journal.close()
        }
        return disk.open(path, how)
      },
    }),
    'a journal written at the wrong place': onFiles((file, path) =>
      isJournal(path) ? { write: (bytes, at) => file.write(bytes, Math.max(0, at - 3)) } : {},
    ),
    'what was read and never synced': (disk) => {
      let opened = 0
      return {
        ...disk,
        open: async (path, how) => {
          const file = await disk.open(path, how)
          opened += 1
          return how === 'update' && opened <= 2 ? { ...file, sync: nothing } : file
        },
        syncDirectory: async (path) => (opened <= 2 ? undefined : disk.syncDirectory(path)),
      }
    },
    'a line that is written twice': onFiles((file, path) =>
      isJournal(path)
        ? {
            write: async (bytes, at) => {
              await file.write(bytes, at)
              await file.write(bytes, at + bytes.length)
              return bytes.length
            },
          }
        : {},
    ),
  }
}

async function counted(): Promise<{ total: number; states: string[] }> {
  let total = 0
  const states: string[] = []
  const disk = faultyDisk(simulatedDisk(9), ({ step }) => {
    total = step
    return undefined
  })
  await work(disk, 9, states)
  return { total, states }
}

async function failOnce(code: string, at: number, expected: string[]): Promise<void> {
  const inner = simulatedDisk(9)
  const fault: Fault = code === 'short' ? 'short' : { code }
  const disk = faultyDisk(inner, ({ step }) => (step === at ? fault : undefined))
  const states: string[] = []
  const error = await work(disk, 9, states).catch((error) => error as Error & { code?: string })
  if (error) expect(error.code, `${code} at ${at}: ${error.message}`).toMatch(/^STORAGE_|^E/)

  const allowed = [states.at(-1) ?? missing, expected[states.length] ?? missing]
  expect(await check(inner.restart('power'), allowed), `${code} at operation ${at}`).toBeUndefined()
}

function add(tree: TaskTree, title: string): Promise<TaskNode> {
  return createTask(tree, tree.root().id, { title }, { editedBy: 'agent' })
}

const root = { title: 'Root', baseBranch: 'main' }
