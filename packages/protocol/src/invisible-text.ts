/**
 * Characters that a reader does not see and a model reads: tags, zero-width marks, bidirectional controls, fillers, variation
 * selectors, soft hyphens. Controls such as line breaks, tabs and escapes are no matter of this file.
 */
const invisible =
  /[\u00AD\u061C\u115F\u1160\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}]|\u034F|[\u17B4\u17B5]|[\u180B-\u180F]|[\uFE00-\uFE0F]|[\u{E0000}-\u{E0FFF}]/u
const everyInvisible = new RegExp(invisible, 'gu')

/** Nearly all text is this, and it is quick to tell. */
const plain = /^[\0-\x7F]*$/

/** The text as a reader sees it, and how many characters it had beside that. */
export function removeInvisible(text: string): { text: string; removed: number } {
  if (plain.test(text) || !invisible.test(text)) return { text, removed: 0 }
  let removed = 0
  const kept = text.replace(everyInvisible, (character, offset: number) => {
    if (isMeant(text, character, offset)) return character
    removed += 1
    return ''
  })
  return { text: kept, removed }
}

/** The same for every text of a value. */
export function removeInvisibleDeep<Value>(value: Value): Value {
  if (typeof value === 'string') return removeInvisible(value).text as Value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(removeInvisibleDeep) as Value
  const entries = Object.entries(value).map(([name, part]) => [removeInvisible(name).text, removeInvisibleDeep(part)])
  return Object.fromEntries(entries) as Value
}

/** What is said beside a text that lost some. */
export function removedNote(removed: number): string {
  return `[${removed} invisible ${removed === 1 ? 'character was' : 'characters were'} removed here]`
}

// The three flags that emoji write with tags: England, Scotland, Wales.
const tagFlag =
  /^\u{1F3F4}(?:\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F})/u
const MAX_FLAG_UNITS = 14

const joinedEmoji = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier})\uFE0F?$/u
const emojiNext = /^(?:\p{Extended_Pictographic})/u
/** Scripts whose spelling needs joiners: Arabic and its kin, Mongolian, and those of India and its neighbours. */
const joiningScript =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]$/u
const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const emojiBase = /[\p{Extended_Pictographic}\p{Emoji_Modifier}0-9#*]$/u
const ideograph = /[\p{Script=Han}]$/u
const symbol = /[\p{Sm}\p{Script=Myanmar}\p{Script=Phags_Pa}]$/u

/** Whether a character belongs to the spelling around it. Never two in a row, so that no message fits into them. */
function isMeant(text: string, character: string, offset: number): boolean {
  const [before, after] = [
    text.slice(Math.max(0, offset - 3), offset),
    text.slice(offset + character.length, offset + character.length + 2),
  ]
  if (character >= '\u{E0001}' && character <= '\u{E007F}' && character.length === 2) return isOfFlag(text, offset)
  if (character === '\u200D' && joinedEmoji.test(before) && emojiNext.test(after)) return true
  if (invisible.test(before.slice(-1)) || invisible.test(before.slice(-2))) return false
  if (character === '\u200C' || character === '\u200D') return joiningScript.test(before)
  if (character === '\u200E' || character === '\u200F' || character === '\u061C')
    return rightToLeft.test(before) || rightToLeft.test(after)
  if (character === '\uFE0E' || character === '\uFE0F') return emojiBase.test(before)
  if (character >= '\uFE00' && character <= '\uFE02' && character.length === 1)
    return ideograph.test(before) || symbol.test(before)
  if (character >= '\u180B' && character <= '\u180F' && character.length === 1)
    return /\p{Script=Mongolian}$/u.test(before)
  return /[\u{E0100}-\u{E01EF}]/u.test(character) && ideograph.test(before)
}

function isOfFlag(text: string, offset: number): boolean {
  const from = Math.max(0, offset - MAX_FLAG_UNITS)
  const start = text.slice(from, offset).lastIndexOf('\u{1F3F4}')
  if (start === -1) return false
  const flag = tagFlag.exec(text.slice(from + start, from + start + MAX_FLAG_UNITS))
  return flag !== null && offset < from + start + flag[0].length
}
