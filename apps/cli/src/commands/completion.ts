import { MatrixError } from '@matrix/protocol'
import type { Command } from 'commander'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { print } from '../terminal.ts'

type Word = { word: string; summary: string }

const shells: Record<string, (commands: (Word & { options: Word[] })[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** A script made from the commands themselves, so it is never behind them. */
export function completion(shell: string, program: Command): ExitCode {
  const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
  if (!script)
    throw new MatrixError('FORMAT_UNKNOWN', `There is no completion for ${shell}.`, {
      hint: 'Choose bash, zsh or fish.',
    })
  print(
    script(
      program.commands.map((command) => ({
        word: command.name(),
        summary: command.summary(),
        options: optionsOf(command),
      })),
    ),
  )
  return exitCode.ok
}

function optionsOf(command: Command): Word[] {
  const help = { word: '--help', summary: 'show help' }
  return [...command.options.map(({ long, description }) => ({ word: long ?? '', summary: description })), help]
}

type Commands = Parameters<(typeof shells)['bash']>[0]

function bashScript(commands: Commands): string {
  const list = (words: readonly string[]) => `$'${words.join('\\n')}'`
  const cases = commands.map(
    ({ word, options }) => `    ${word}) words=${list(options.map((option) => option.word))} ;;`,
  )
  return `_matrix() {
  local IFS=$'\\n' current=\${COMP_WORDS[COMP_CWORD]} words
  if (( COMP_CWORD == 1 )); then words=${list([...commands.map(({ word }) => word), '--help', '--version'])}
  else case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $current != -* && $COMP_CWORD -gt 1 ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _matrix matrix mxd`
}

function zshScript(commands: Commands): string {
  const list = commands.map(({ word, summary }) => `'${word}:${quote(summary)}'`)
  const cases = commands.map(
    ({ word, options }) =>
      `    ${word}) _arguments ${options.map((option) => `'${option.word}[${quote(option.summary)}]'`).join(' ')} '*:file:_files' ;;`,
  )
  return `#compdef matrix mxd
_matrix() {
  local -a commands=(${list.join(' ')})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  shift words; (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
}
compdef _matrix matrix mxd`
}

function fishScript(commands: Commands): string {
  return ['matrix', 'mxd']
    .flatMap((program) => [
      ...commands.map(
        ({ word, summary }) => `complete -c ${program} -n __fish_use_subcommand -f -a ${word} -d '${quote(summary)}'`,
      ),
      ...commands.flatMap(({ word, options }) =>
        options.map(
          (option) =>
            `complete -c ${program} -n '__fish_seen_subcommand_from ${word}' -l ${option.word.slice(2)} -d '${quote(option.summary)}'`,
        ),
      ),
    ])
    .join('\n')
}

function quote(text: string): string {
  return text.replaceAll("'", '’').replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', ' -')
}
