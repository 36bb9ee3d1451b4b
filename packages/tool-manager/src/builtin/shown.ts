/** How many characters of one result reach the conversation; what is longer says how to see the rest. */
export const MAX_SHOWN = 30_000
/** A file that was asked for by name is shown further, so that most are read in one call. */
export const MAX_SHOWN_OF_FILE = 60_000
