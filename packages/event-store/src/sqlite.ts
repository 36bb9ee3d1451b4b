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

/** Loaded when it is first needed: a program that only reads a session does not pay for it. */
export async function loadSqlite(): Promise<Sqlite> {
  return (await import('better-sqlite3')).default
}
