/** Matches a secret in every spelling that is promised; what is matched may be replaced as a whole. */
export function spellingOf(secret: string): RegExp {
  const bytes = Buffer.from(secret)
  const alternatives = [escapedSpelling(secret), hexSpelling(bytes), ...base64Spellings(bytes)]
  return new RegExp(alternatives.map((each) => `(?:${each})`).join('|'), 'gu')
}

/** Each character as it is, or as URLs, JSON and HTML write it, also several times over. */
function escapedSpelling(secret: string): string {
  return [...secret].map((character) => `(?:${escapesOf(character).join('|')})`).join('')
}

const named: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }
const short: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }

function escapesOf(character: string): string[] {
  const code = character.codePointAt(0) ?? 0
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)*${eitherCase(hexOf(byte, 2))}`).join('')
  const units = character.split('').map((unit) => `\\\\+u${eitherCase(hexOf(unit.charCodeAt(0), 4))}`)
  const entity = `&(?:amp;)*(?:#0*${code}|#[xX]0*${eitherCase(hexOf(code, 1))}${named[character] ? `|${named[character]}` : ''});`
  const spaces = character === ' ' ? ['\\+'] : []
  const control = short[character] ? [`\\\\+${short[character]}`] : []
  return [`\\\\*${literal(character)}`, percent, units.join(''), entity, ...spaces, ...control]
}

/** Either case; with nothing, spaces, colons, commas, `\x` or `0x` between the bytes, and broken into lines. */
function hexSpelling(bytes: Buffer): string {
  return [...bytes].map((byte) => eitherCase(hexOf(byte, 2))).join('(?:[\\s:,;-]|\\\\x|0x)*')
}

/** Fewer characters of base64 than this would also stand in ordinary words. */
const MIN_BASE64 = 6

/**
 * In both alphabets, for each of the three ways in which a secret can lie in longer bytes: the characters that it alone
 * decides, and the one before and after of which it decides a part.
 */
function base64Spellings(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const [first, last] = [Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6)]
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const core = text.slice(first, last)
    if (core.length < MIN_BASE64) return []
    const edge = '(?:[A-Za-z0-9+/_-])?'
    const body = [...core].map(eitherAlphabet).join('(?:\\r?\\n)?')
    return [`${offset > 0 ? edge : ''}${body}${((offset + bytes.length) * 8) % 6 === 0 ? '' : edge}`]
  })
}

function eitherAlphabet(character: string): string {
  if (character === '+') return '[+-]'
  return character === '/' ? '[/_]' : character
}

function hexOf(value: number, length: number): string {
  return value.toString(16).padStart(length, '0')
}

function eitherCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
