import { MatrixError } from '@matrix/protocol'

/** As deep as anything that Matrix reads may be nested. */
const deepest = 64

/** Refuses nesting that would exhaust the stack of whoever walks through the value later. */
export function checkDepth(text: string): void {
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (isInString) {
      if (code === backslash) index += 1
      else if (code === quote) isInString = false
    } else if (code === quote) isInString = true
    else if (code === openBrace || code === openBracket) {
      depth += 1
      if (depth > deepest)
        throw new MatrixError('REQUEST_INVALID', `The body is nested deeper than ${deepest} levels.`, { field: 'body' })
    } else if (code === closeBrace || code === closeBracket) depth -= 1
  }
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d]
