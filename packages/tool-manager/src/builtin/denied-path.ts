import * as z from 'zod'

/** Where a call is told what its policy denies, beside the arguments that a model gave it. */
export const DENIED_META = 'matrix/denied'

const Denied = z.object({
  paths: z.array(z.string()),
  base: z.object({ cwd: z.string(), home: z.string() }),
})

/** Whether a result at this path is to be left out. */
export type IsDenied = (path: string) => boolean

export async function readDenied(meta: Record<string, unknown> | undefined): Promise<IsDenied> {
  if (meta?.[DENIED_META] === undefined) return () => false
  const { paths, base } = Denied.parse(meta[DENIED_META])
  // Patterns need a good deal of code, and most calls have none.
  const { isPathDenied } = await import('@matrix/manifest/path-list')
  return (path) => isPathDenied(paths, path, base)
}
