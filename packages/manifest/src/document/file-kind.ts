/** What a file is in the words of a person, where it is not JSON. */
export type FileKind = { name: string; fix?: string }

const byBytes: readonly [string, FileKind][] = [
  ['PK\x03\x04', { name: 'a zip archive', fix: 'If it is an MCP bundle, unpack it and pass its manifest.json.' }],
  ['\x1f\x8b', { name: 'a gzip archive' }],
  ['\x89PNG', { name: 'an image' }],
  ['\xff\xd8\xff', { name: 'an image' }],
  ['GIF8', { name: 'an image' }],
  ['%PDF', { name: 'a PDF' }],
  ['\x7fELF', { name: 'a program' }],
  ['SQLite format 3', { name: 'a SQLite database' }],
]

const byEnding: Readonly<Record<string, string>> = {
  toml: 'TOML',
  md: 'Markdown',
  mdc: 'Markdown',
  markdown: 'Markdown',
  yaml: 'YAML',
  yml: 'YAML',
  xml: 'XML',
  html: 'HTML',
  js: 'JavaScript',
  mjs: 'JavaScript',
  cjs: 'JavaScript',
  ts: 'TypeScript',
  py: 'Python',
  sh: 'a shell script',
  env: 'a list of environment variables',
  ini: 'INI',
}

/** Of a text that is no JSON, what its first lines look like. */
const byText: readonly [RegExp, string][] = [
  [/^#!/, 'a script'],
  [/^(?:#[^\n]*\n\s*)*(?:\[\[?[\w."' -]+\]\]?[ \t]*(?:#|\r?\n|$)|[\w"'.-]+[ \t]*=[ \t]*["'\d[{tf])/, 'TOML'],
  [/^---\r?\n[\s\S]*?\n---\r?\n/, 'Markdown'],
  [/^(?:---|%YAML)\s/, 'YAML'],
  [/^#{1,6} \S|^```|^[*-] \S|^\[[^\]]+\]\(/, 'Markdown'],
  [/^(?:<\?xml|<!DOCTYPE|<[a-z]+[\s>])/i, 'XML or HTML'],
  [/^(?:import|export|const|let|var|module\.exports)\b/, 'JavaScript'],
  [/^[\w-]+=\S*$/m, 'a list of environment variables'],
  [/^[\w-]+:(?:\s|$)/, 'YAML'],
]

const LOOKED_AT = 4096

/** Undefined where it is JSON, or meant to be. */
export function findFileKind(bytes: Uint8Array, fileName = ''): FileKind | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, LOOKED_AT))
  const binary = start.toString('latin1')
  const magic = byBytes.find(([first]) => binary.startsWith(first))?.[1]
  if (magic) return magic
  const text = start
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart()
  const ending = /\.(\w+)$/.exec(fileName)?.[1]?.toLowerCase() ?? ''
  const named = Object.hasOwn(byEnding, ending) ? byEnding[ending] : undefined
  if (named === 'TOML') return { name: named }
  if (text === '' || /^[{"]/.test(text)) return undefined
  if (named !== undefined) return { name: named }
  if (/^json/.test(ending)) return undefined
  const kind = byText.find(([shape]) => shape.test(text))?.[1]
  return kind === undefined ? undefined : { name: kind }
}
