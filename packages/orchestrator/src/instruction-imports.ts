/** The files that an instruction file imports as `@path`. Code is left alone, as are addresses and names of people or packages. */
export function findImports(text: string): string[] {
  const found = new Set<string>()
  let fence: string | undefined
  for (const line of text.split('\n')) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]?.slice(0, 3)
    if (mark && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined
    else if (fence === undefined) for (const name of importsOf(line)) found.add(name)
  }
  return [...found]
}

function importsOf(line: string): string[] {
  const prose = line.replaceAll(/`[^`]*`/g, '')
  return [...prose.matchAll(/(?<=^|[\s(])@([^\s@`()]+)/g)]
    .map(([, name = '']) => name.replace(/[.,;:!?]+$/, ''))
    .filter(isPath)
}

/** `@someone` is a person, `@scope/package` a package: a file has a folder or an ending that says so. */
function isPath(name: string): boolean {
  return /^(?:\.{1,2}\/|~\/|\/)/.test(name) || /\.[A-Za-z]\w{0,9}$/.test(name) || name === 'README'
}
