import type BetterSqlite3 from 'better-sqlite3'

export type Sqlite = typeof BetterSqlite3
export type Database = BetterSqlite3.Database
export type Statement = BetterSqlite3.Statement<unknown[], unknown>

/** Loaded when it is first needed: a program that only reads a session does not pay for it. */
export async function loadSqlite(): Promise<Sqlite> {
  return (await import('better-sqlite3')).default
}
