import { open as openFile, rm } from 'node:fs/promises'
import { FOLD_VERSION } from '@matrix/protocol/session'
import { storageError } from './session-writer.ts'
import { type Database, loadSqlite } from './sqlite.ts'

// Raised whenever a table changes: an index of another version, or with states of another fold, is thrown away and made anew.
const SCHEMA_VERSION = 4 * 1000 + FOLD_VERSION

const schema = `
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  -- The session's id, or the name of its archive once it is put away: an id can be used again then.
  name TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  size INTEGER NOT NULL DEFAULT 0,
  seq INTEGER NOT NULL DEFAULT -1,
  sum TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'new',
  damage TEXT,
  state TEXT NOT NULL DEFAULT '',
  first_at TEXT,
  last_at TEXT,
  archive TEXT
);
CREATE TABLE cost (
  session INTEGER NOT NULL,
  task TEXT NOT NULL,
  day TEXT NOT NULL,
  model TEXT NOT NULL,
  usd REAL NOT NULL,
  turns INTEGER NOT NULL,
  unpriced_turns INTEGER NOT NULL,
  work_ms INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  PRIMARY KEY (session, task, day, model)
) WITHOUT ROWID;
PRAGMA user_version = ${SCHEMA_VERSION};
`

/** Opens the index, or an empty one in its place when it is missing, of another version or damaged. */
export async function openIndexDatabase(file: string): Promise<Database> {
  const usable = await openUsable(file)
  if (usable) return usable
  try {
    await removeDatabase(file)
    const made = await open(file)
    made.exec(schema)
    return made
  } catch (error) {
    throw storageError(`Cannot write the index ${file}`, error)
  }
}

export async function removeDatabase(file: string): Promise<void> {
  await Promise.all(['', '-wal', '-shm', '-journal'].map((ending) => rm(`${file}${ending}`, { force: true })))
}

/** Makes the file before SQLite does, which would let everyone on the machine read what was said. */
export async function keepPrivate(file: string): Promise<void> {
  const made = await openFile(file, 'a', 0o600)
  await made.close()
}

async function open(file: string): Promise<Database> {
  const Database = await loadSqlite()
  await keepPrivate(file)
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  // A log that only grows has filled disks before.
  database.pragma('journal_size_limit = 67108864')
  database.pragma('cache_size = -32768')
  return database
}

async function openUsable(file: string): Promise<Database | undefined> {
  let database: Database | undefined
  try {
    database = await open(file)
    if (database.pragma('user_version', { simple: true }) !== SCHEMA_VERSION) throw new Error('another version')
    database.prepare('SELECT count(*) FROM session').get()
    return database
  } catch {
    database?.close()
    return undefined
  }
}
