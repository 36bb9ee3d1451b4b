import { createHighlighterCore, type HighlighterCore, type LanguageInput } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import type { Token } from './colours.tsx'

// Each grammar is a file of its own and comes when it is first needed.
const grammars: Record<string, LanguageInput> = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}

const aliases: Record<string, string> = {
  cjs: 'tsx',
  h: 'c',
  htm: 'html',
  javascript: 'tsx',
  js: 'tsx',
  jsonc: 'json',
  jsx: 'tsx',
  md: 'markdown',
  mjs: 'tsx',
  mts: 'tsx',
  patch: 'diff',
  py: 'python',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'tsx',
  typescript: 'tsx',
  yml: 'yaml',
  zsh: 'bash',
}

let opened: Promise<HighlighterCore> | undefined

/** Tokens with a colour for light and one for dark, or nothing for a language that is not known. */
export async function highlight(code: string, language: string): Promise<Token[][] | undefined> {
  const name = aliases[language.toLowerCase()] ?? language.toLowerCase()
  const grammar = grammars[name]
  if (!grammar) return undefined

  opened ??= createHighlighterCore({
    themes: [
      import('shiki/themes/github-light-high-contrast.mjs'),
      import('shiki/themes/github-dark-high-contrast.mjs'),
    ],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  const highlighter = await opened
  await highlighter.loadLanguage(grammar)
  const lines = highlighter.codeToTokensWithThemes(code, {
    lang: name,
    themes: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  })
  return lines.map((line) =>
    line.map(({ content, variants }) => ({
      content,
      color: inLight(variants.light?.color),
      dark: variants.dark?.color,
    })),
  )
}

/** Comments of this theme are too pale for the green and red of a diff. */
function inLight(color: string | undefined): string | undefined {
  return color?.toUpperCase() === '#66707B' ? '#484E56' : color
}
