import * as z from 'zod'

/** A file of the user's checkout by its plain path in it: nothing above it, and nothing of git's own. */
const CheckoutPath = z
  .string()
  .max(512)
  .refine((path) => isPlain(path), 'not a plain path in the checkout, such as .env or config/local.json')

export const CheckoutFiles = z.array(CheckoutPath).max(32)

const reference = /\$(?:MXD_REPOSITORY|\{MXD_REPOSITORY\})"?\/+([^\s"'`;|&<>()$*?[\]{}\\]+)/g

/** The files of the checkout that a setup script names, as `$MXD_REPOSITORY/.env`. */
export function findCheckoutFiles(script: string): string[] {
  const lines = script.split('\n').filter((line) => !/^\s*#/.test(line))
  const named = lines.flatMap((line) => [...line.matchAll(reference)].map(([, path = '']) => path))
  return [...new Set(named)].filter((path) => path.length <= 512 && isPlain(path)).slice(0, 32)
}

function isPlain(path: string): boolean {
  const parts = path.split('/')
  return !/[\0\n\\]/.test(path) && parts.every((part) => !/^(?:|\.|\.\.|\.git)$/i.test(part))
}
