/** Set inside every box, and nowhere else. */
export const BOXED = 'MATRIX_BOXED'

/** What the processes of a box may hold together, in bytes. Set where Matrix's own tools look after it. */
export const MEMORY_LIMIT = 'MATRIX_MEMORY_BYTES'
