import { isLiteralCredential } from '../manifest/credential.ts'

const MAX_LENGTH = 80

/** An author's words inside a message: never a credential, never longer than a line. */
export function quoteText(text: string): string {
  if (isLiteralCredential('', text)) return '"…"'
  const characters = [...text]
  return JSON.stringify(characters.length > MAX_LENGTH ? `${characters.slice(0, MAX_LENGTH).join('')}…` : text)
}
