import { MatrixError } from '@matrix/protocol'

type Statement = {
  run(...parameters: unknown[]): { lastInsertRowid: number | bigint }
  get(...parameters: unknown[]): unknown
  all(...parameters: unknown[]): unknown[]
}

/** What is needed of better-sqlite3, so that whoever uses this package's types does not need those of another. */
export type Database = {
  readonly inTransaction: boolean
  prepare(sql: string): Statement
  exec(sql: string): unknown
  pragma(text: string, options?: { simple?: boolean }): unknown
  transaction<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result
  close(): unknown
}

export type Sqlite = new (file: string, options?: { timeout?: number }) => Database

// Release 13 crashes where Node-API 10 is missing (before Node 22.14), and 12 aborts Node 24.19 and newer.
const isModern = Number(process.versions.napi) >= 10
export const sqlitePackage = isModern ? 'better-sqlite3' : 'better-sqlite3-node20'

/** Loaded when it is first needed: a program that only reads a session does not pay for it. */
export async function loadSqlite(): Promise<Sqlite> {
  try {
    return (isModern ? await import('better-sqlite3') : await import('better-sqlite3-node20')).default
  } catch (error) {
    throw new MatrixError('STORAGE_FAILED', `SQLite cannot be loaded on Node ${process.versions.node}`, {
      hint: isModern
        ? 'Install it again with this Node and with optional dependencies. Sessions alone need none: openJsonlEventStore.'
        : 'Install it again with optional dependencies, for which this Node needs Python 3, make and a C++ compiler (22.14 and newer need none). Sessions alone need none: openJsonlEventStore.',
      cause: error,
    })
  }
}
