import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { buildProgram } from './program.ts'

const page = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
const commands = pathsOf(buildProgram(() => undefined))

test('every command has its place in the documentation', () => {
  const text = page('cli.md')

  for (const path of commands.keys()) expect(text, path).toMatch(new RegExp(`\`matrix ${path}[ \`]`))
})

test('the documentation names no command and no option that is not there', () => {
  for (const [, path = '', flags = ''] of `${page('cli.md')}\n${page('getting-started.md')}`.matchAll(
    /\bmatrix ((?:[a-z][a-z-]* ?){1,2})([^`\n&|;]*)/g,
  )) {
    const words = path.trim().split(' ')
    const command = commands.get(words.join(' ')) ?? commands.get(words[0] ?? '')
    if (!command) continue
    const known = command.options.flatMap(({ long, short }) => [long, short])
    for (const [flag] of flags.matchAll(/(?<=\s|^)--[a-z-]+/g)) expect(known, `matrix ${path} ${flag}`).toContain(flag)
  }
})

function pathsOf(program: Command): Map<string, Command> {
  return new Map(
    program.commands.flatMap((command) => [
      [command.name(), command] as const,
      ...command.commands.map((below) => [`${command.name()} ${below.name()}`, below] as const),
    ]),
  )
}
