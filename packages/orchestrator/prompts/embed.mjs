// Writes src/prompt-text.ts from the Markdown files beside this one: node prompts/embed.mjs
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const folder = new URL('.', import.meta.url)
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.md'))
  .sort()
const entries = names.map((name) => {
  const text = readFileSync(new URL(name, folder), 'utf8').trimEnd()
  return `  ${name.slice(0, -'.md'.length)}: \`${text.replaceAll(/[\\`]|\$(?=\{)/g, '\\$&')}\`,\n`
})
writeFileSync(
  new URL('../src/prompt-text.ts', folder),
  `/** The Markdown files of prompts/, put here by prompts/embed.mjs: this way they are found from source, build and bundle alike. */\nexport const promptText = {\n${entries.join('')}} as const\n`,
)
