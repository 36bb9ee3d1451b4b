import { MatrixError } from '@matrix/protocol'
import type { Command } from 'commander'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { print } from '../terminal.ts'

type Word = { word: string; summary: string }

const shells: Record<string, (commands: (Word & { verbs: Word[]; options: Word[] })[]) => string> = {
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
        verbs: command.commands.map((verb) => ({ word: verb.name(), summary: verb.summary() })),
        options: optionsOf(command),
      })),
    ),
  )
  return exitCode.ok
}

/** The options of a command and of the verbs below it, each once. */
function optionsOf(command: Command): Word[] {
  const all = [command, ...command.commands].flatMap(({ options }) => options)
  const words = new Map(all.map(({ long, description }) => [long ?? '', description]))
  return [...words, ['--help', 'show help'] as const].map(([word, summary]) => ({ word, summary }))
}

type Commands = Parameters<(typeof shells)['bash']>[0]

function bashScript(commands: Commands): string {
  const list = (words: readonly string[]) => `$'${words.join('\\n')}'`
  const cases = commands.map(
    ({ word, verbs, options }) => `    ${word}) words=${list([...verbs, ...options].map((each) => each.word))} ;;`,
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
    ({ word, verbs, options }) =>
      `    ${word}) _arguments ${verbs.length ? `'1: :(${verbs.map((verb) => verb.word).join(' ')})' ` : ''}${options.map((option) => `'${option.word}[${quote(option.summary)}]'`).join(' ')} '*:file:_files' ;;`,
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
      ...commands.flatMap(({ word, verbs }) =>
        verbs.map(
          (verb) =>
            `complete -c ${program} -n '__fish_seen_subcommand_from ${word}' -f -a ${verb.word} -d '${quote(verb.summary)}'`,
        ),
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
