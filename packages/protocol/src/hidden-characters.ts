/**
 * Characters that a person does not see but a terminal, a log viewer or a model obeys: controls and escapes,
 * bidirectional overrides, zero-width and other invisible marks, Unicode tags, and lone surrogates.
 * Tabs, line breaks and what joins emoji are ordinary text.
 */
const hidden =
  /(?!\t|\n|\uFE0F|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const everyHidden = new RegExp(hidden, 'gu')
const everyHiddenOrBreak = new RegExp(`${hidden.source}|[\\t\\n]`, 'gu')

/** Nearly all text is this, and it is quick to tell. */
const plain = /^[\x20-\x7E\t\n]*$/

export function hasHiddenCharacters(text: string): boolean {
  return !plain.test(text) && hidden.test(text)
}

/** The code points of all hidden characters in a text, each once, as `U+202E`. */
export function findHiddenCharacters(text: string): string[] {
  return plain.test(text) ? [] : [...new Set(text.match(everyHidden)?.map(codePoint))]
}

/** Text from outside made fit for a terminal: what is hidden becomes visible, line breaks and tabs stay. */
export function printable(text: string): string {
  return text.replace(everyHidden, (character) => `<${codePoint(character)}>`)
}

/** The same, on one line. */
export function printableLine(text: string): string {
  return text.replace(everyHiddenOrBreak, (character) =>
    character === '\n' || character === '\t' ? ' ' : `<${codePoint(character)}>`,
  )
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
