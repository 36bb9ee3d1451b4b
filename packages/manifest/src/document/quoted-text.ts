import { isLiteralCredential } from '../manifest/credential.ts'

const MAX_LENGTH = 80

/** An author's words inside a message: never a credential, never longer than a line. */
export function quoteText(text: string): string {
  return JSON.stringify(shownText(text))
}

/** The same without quotes, for what is a name or a number. */
export function shownText(text: string): string {
  if (isLiteralCredential('', text)) return '…'
  if (text.length <= MAX_LENGTH) return text
  const characters = [...text]
  return characters.length > MAX_LENGTH ? `${characters.slice(0, MAX_LENGTH).join('')}…` : text
}
