/**
 * How the names of files begin that a tool is still writing. Whoever is killed meanwhile leaves one behind, and it is part of
 * nobody's work.
 */
export const DRAFT_PREFIX = '.matrix-draft-'
