import * as z from 'zod'

/** `daemon.json` in the data directory: how programs of the same user find the daemon that runs there. */
export const DaemonFile = z.object({
  pid: z.number().int().positive(),
  startedAt: z.iso.datetime(),
  version: z.string(),
  /** Where a browser finds it. */
  url: z.url(),
  port: z.number().int().positive(),
  /** A socket in a folder that only its owner may enter; nothing where the system has none. */
  socket: z.string().nullable(),
  /** The file with the token of this start, readable only by its owner. */
  tokenFile: z.string(),
  /** The flags that start it again as it is: names of files, but nothing of what is in them. */
  args: z.array(z.string()),
})
export type DaemonFile = z.infer<typeof DaemonFile>
