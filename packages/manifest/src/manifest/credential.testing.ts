/** What looks like a credential of GitHub, and is none. */
export const madeUpToken = `ghp_${'a1'.repeat(18)}`
