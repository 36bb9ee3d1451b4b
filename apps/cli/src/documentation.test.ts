import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { commandExamples } from './command-examples.ts'
import { buildProgram } from './program.ts'

const page = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
const program = buildProgram(() => undefined)
const commands = pathsOf(program)

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

test('the help of every command says what it is for, shows it in use, and fits a terminal of 80 columns', () => {
  for (const [path, command] of commands) {
    const help = helpOf(command)

    expect(help, path).toMatch(/^Usage: .*\n\n[A-Z][\s\S]*\n\nExamples:\n {2}\$ \S/)
    for (const line of help.split('\n')) expect(line.length, `${path}: ${line}`).toBeLessThanOrEqual(80)
  }
  for (const line of helpOf(program).split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
})

test('every example is a command that there is, with options that it has', () => {
  for (const [path, examples] of Object.entries(commandExamples))
    for (const example of examples) {
      const [, words = ''] = /\bmatrix ([^<>|]*)/.exec(example) ?? []
      const own = commands.get(path)?.commands.map((below) => below.name()) ?? []
      const rest = words
        .replace(/'[^']*'|"[^"]*"/g, 'text')
        .slice(path.length)
        .trim()
        .split(/\s+/)
      const meant = commands.get(own.includes(rest[0] ?? '') ? `${path} ${rest[0]}` : path)

      expect(words, example).toMatch(new RegExp(`^${path}\\b`))
      expect(meant?.parseOptions(rest).unknown, example).toEqual([])
    }
})

function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 80 })
  command.outputHelp()
  return help
}

function pathsOf(program: Command): Map<string, Command> {
  return new Map(
    program.commands.flatMap((command) => [
      [command.name(), command] as const,
      ...command.commands.map((below) => [`${command.name()} ${below.name()}`, below] as const),
    ]),
  )
}
