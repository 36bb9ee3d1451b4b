/**
 * How well a text answers what was typed: more is better, nothing is no match. Every word has to be found; the start of a word
 * counts more than its middle, and letters that only follow one another count least.
 */
export function matchScore(text: string, typed: string): number | undefined {
  const haystack = text.toLowerCase()
  let score = 0
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = scoreWord(haystack, word)
    if (found === undefined) return undefined
    score += found
  }
  return score - haystack.length / 1000
}

function scoreWord(haystack: string, word: string): number | undefined {
  const at = haystack.indexOf(word)
  if (at === 0) return 4
  if (at > 0) return /[\s/_.-]/.test(haystack[at - 1] ?? '') || haystack.includes(` ${word}`) ? 3 : 2
  // The letters of a short word follow one another almost anywhere.
  return word.length > 3 && isSubsequence(haystack, word) ? 0.5 : undefined
}

function isSubsequence(haystack: string, word: string): boolean {
  let from = 0
  for (const letter of word) {
    const at = haystack.indexOf(letter, from)
    if (at === -1) return false
    from = at + 1
  }
  return true
}
