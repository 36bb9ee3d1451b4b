/**
 * Answers with one sentence if this Node cannot build Matrix, and with undefined if it can.
 * The gap in the middle is the toolchain's: Vite and Rolldown run on ^20.19 or >=22.12.
 * @param {string} version
 * @returns {string | undefined}
 */
export function checkNode(version) {
  const parts = version.split('.').map(Number)
  const major = parts[0] || 0
  const minor = parts[1] || 0
  const fits = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
  if (fits) return undefined

  return `Matrix needs Node 20.19 or newer in the 20 line, or 22.12 and newer, and this is Node ${version}: install one from https://nodejs.org and run the command again.`
}
