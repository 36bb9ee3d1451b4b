/** A part of a word, or `undefined` where only the shell knows what stands there: a variable, a substitution, a pattern. */
export type Piece = string | undefined
