import { rules } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { Command } from 'commander'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { print } from '../terminal.ts'

type Word = { word: string; summary: string }

/** A command and what can follow it: commands of its own, options, or what its argument can be where that is known. */
type Node = Word & { commands: Node[]; options: Word[]; values: string[] }

const shells: Record<string, (commands: Node[]) => string> = { bash: bashScript, zsh: zshScript, fish: fishScript }

const valuesOf: Record<string, readonly string[]> = { explain: Object.keys(rules), completion: Object.keys(shells) }

/** A script made from the commands themselves, so it is never behind them. */
export function completion(shell: string, program: Command): ExitCode {
  const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
  if (!script)
    throw new MatrixError('FORMAT_UNKNOWN', `There is no completion for ${shell}.`, {
      hint: 'Choose bash, zsh or fish.',
    })
  print(script(program.commands.map(nodeOf)))
  return exitCode.ok
}

function nodeOf(command: Command): Node {
  const help = { word: '--help', summary: 'show help' }
  const options = command.options.map(({ long, description }) => ({ word: long ?? '', summary: description }))
  return {
    word: command.name(),
    summary: command.summary(),
    commands: command.commands.map(nodeOf),
    options: [...options, help],
    values: [...(valuesOf[command.name()] ?? [])],
  }
}

/** Every command by the words that lead to it, such as `task create`, and what may stand after them. */
function pathsOf(commands: readonly Node[]): { path: string; words: Word[] }[] {
  return commands.flatMap(({ word, commands: below, options, values }) => [
    { path: word, words: [...below, ...values.map((value) => ({ word: value, summary: '' })), ...options] },
    ...below.map((one) => ({ path: `${word} ${one.word}`, words: one.options })),
  ])
}

function bashScript(commands: Node[]): string {
  const list = (words: readonly Word[]) => `$'${words.map(({ word }) => word).join('\\n')}'`
  const groups = commands.filter((command) => command.commands.length > 0).map(({ word }) => word)
  const cases = pathsOf(commands).map(({ path, words }) => `    '${path}') words=${list(words)} ;;`)
  const first = [...commands, { word: '--help', summary: '' }, { word: '--version', summary: '' }]
  return `_matrix() {
  local IFS=$'\\n' current=\${COMP_WORDS[COMP_CWORD]} words path=\${COMP_WORDS[1]}
  if (( COMP_CWORD > 2 )); then case $path in ${groups.join('|')}) path="$path \${COMP_WORDS[2]}" ;; esac; fi
  if (( COMP_CWORD == 1 )); then words=${list(first)}
  else case $path in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $current != -* && $COMP_CWORD -gt 1 && \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _matrix matrix mxd`
}

function zshScript(commands: Node[]): string {
  const describe = (words: readonly Word[]) => words.map(({ word, summary }) => `'${word}:${quote(summary)}'`).join(' ')
  const flags = (words: readonly Word[]) => words.map(({ word, summary }) => `'${word}[${quote(summary)}]'`).join(' ')
  const cases = commands.flatMap(({ word, commands: below, options, values }) => {
    const argument = values.length > 0 ? `'1:value:(${values.join(' ')})'` : "'*:file:_files'"
    if (below.length === 0) return [`    ${word}) _arguments ${flags(options)} ${argument} ;;`]
    const nested = below.map((one) => `      ${one.word}) _arguments ${flags(one.options)} '*:file:_files' ;;`)
    return [
      `    ${word})`,
      `      if (( CURRENT == 2 )); then local -a below=(${describe(below)}); _describe command below; return; fi`,
      '      shift words; (( CURRENT-- ))',
      '      case $words[1] in',
      ...nested.map((text) => `  ${text}`),
      '      esac ;;',
    ]
  })
  return `#compdef matrix mxd
_matrix() {
  local -a commands=(${describe(commands)})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  shift words; (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
}
compdef _matrix matrix mxd`
}

function fishScript(commands: Node[]): string {
  const line = (program: string, when: string, rest: string, summary: string) =>
    `complete -c ${program} -n '${when}' ${rest} -d '${quote(summary)}'`
  return ['matrix', 'mxd']
    .flatMap((program) => [
      ...commands.map(({ word, summary }) => line(program, '__fish_use_subcommand', `-f -a ${word}`, summary)),
      ...commands.flatMap(({ word, commands: below, options, values }) => {
        const seen = `__fish_seen_subcommand_from ${word}`
        const names = below.map((one) => one.word).join(' ')
        return [
          ...below.map((one) =>
            line(program, `${seen}; and not __fish_seen_subcommand_from ${names}`, `-f -a ${one.word}`, one.summary),
          ),
          ...values.map((value) => line(program, seen, `-f -a ${value}`, '')),
          ...(below.length > 0 ? [] : options).map((one) =>
            line(program, seen, `-l ${one.word.slice(2)}`, one.summary),
          ),
          ...below.flatMap((one) =>
            one.options.map((option) =>
              line(
                program,
                `${seen}; and __fish_seen_subcommand_from ${one.word}`,
                `-l ${option.word.slice(2)}`,
                option.summary,
              ),
            ),
          ),
        ]
      }),
    ])
    .join('\n')
}

function quote(text: string): string {
  return text.replaceAll("'", '’').replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', ' -')
}
